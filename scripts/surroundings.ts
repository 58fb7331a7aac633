import { randomBytes } from 'node:crypto'
import * as oauth from 'openid-client'
import { startAcme } from '../examples/demo/acme.js'
import { startAuthorizationServer } from '../examples/demo/authorization-server.js'
import { describe, HttpBrowser } from '../examples/demo/http-browser.js'
import { acmeCustomers } from '../examples/demo/people.js'
import { loopback, reservePort } from '../examples/demo/ports.js'
import { connectTerminalClient, type TerminalClient } from '../examples/demo/terminal-client.js'
import { visit } from '../examples/demo/visitor.js'

/** What an application needs around it: its authorization server, a third party, and a person with a browser and an MCP client. */
export interface Surroundings {
  readonly mcpUrl: string
  /** What the application is told of them. */
  readonly env: Readonly<Record<string, string>>
  /** Opens a link and does all that its pages ask for: signs in at the authorization server, goes on, consents at Acme. */
  follow (url: string): Promise<void>
  /** Signs an MCP client in at the authorization server, and opens an MCP session. */
  connect (): Promise<TerminalClient>
  close (): Promise<void>
}

/** Starts them, and registers the application with both. */
export async function startSurroundings (): Promise<Surroundings> {
  const { port, release } = await reservePort(0)
  const baseUrl = `http://localhost:${port}`
  const mcpUrl = `${baseUrl}/mcp`
  const scope = 'mcp:tools'
  const client = { id: 'terminal-client', redirectUri: `http://${loopback}/signed-in` }
  const login = { id: 'web', secret: randomBytes(32).toString('base64url') }
  // The demo's visitor goes by one name everywhere.
  const [{ login: name }] = acmeCustomers as [typeof acmeCustomers[number]]
  const person = { login: name, subject: 'employee-1', name: 'Alice' }
  const visitor = { login: '', password: '', acmeLogin: name }

  const authorizationServer = await startAuthorizationServer({
    site: { name: 'Example Corp', color: '#000' },
    people: [person],
    scopes: { [scope]: 'use its tools in your name' },
    resources: [mcpUrl]
  })
  const acme = await startAcme()
  await acme.setRedirectUris([`${baseUrl}/connect/callback/acme`])
  await authorizationServer.registerClient({
    client_id: login.id, client_secret: login.secret, client_name: 'Web', redirect_uris: [`${baseUrl}/connect/login/callback`]
  })
  await authorizationServer.registerClient({
    client_id: client.id, client_name: 'Terminal client', application_type: 'native', token_endpoint_auth_method: 'none', redirect_uris: [client.redirectUri]
  })

  async function accessToken (): Promise<string> {
    const configuration = await oauth.discovery(new URL(authorizationServer.issuer), client.id, undefined, oauth.None(), { execute: [oauth.allowInsecureRequests] })
    const pkceCodeVerifier = oauth.randomPKCECodeVerifier()
    const request = oauth.buildAuthorizationUrl(configuration, {
      redirect_uri: client.redirectUri,
      scope,
      resource: mcpUrl,
      code_challenge: await oauth.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256'
    })
    const { url } = await visit(new HttpBrowser([client.redirectUri]), request.href, visitor)
    return (await oauth.authorizationCodeGrant(configuration, url, { pkceCodeVerifier }, { resource: mcpUrl })).access_token
  }

  await release() // for the application
  return {
    mcpUrl,
    env: {
      PORT: String(port),
      BASE_URL: baseUrl,
      CONNECT_KEY: randomBytes(32).toString('base64'),
      LOGIN_ISSUER: authorizationServer.issuer,
      LOGIN_CLIENT_ID: login.id,
      LOGIN_CLIENT_SECRET: login.secret,
      LOGIN_SUBJECT: person.subject,
      ACME_ISSUER: acme.issuer,
      ACME_API: acme.apiOrigin,
      ACME_CLIENT_ID: acme.clientId,
      ACME_CLIENT_SECRET: acme.clientSecret
    },
    async follow (url) {
      const last = await visit(new HttpBrowser(), url, visitor)
      // 503: the application has what it waited for, and is closing.
      if (![200, 503].includes(last.status) || !last.url.pathname.endsWith('/done')) throw new Error(`the way ended on the page ${describe(last)}`)
    },
    async connect () {
      const token = await accessToken()
      return await connectTerminalClient({ mcpUrl, accessToken: async () => token })
    },
    async close () {
      await acme.close()
      await authorizationServer.close()
    }
  }
}
