import { randomBytes } from 'node:crypto'
import Fastify from 'fastify'
import type { AddressInfo } from 'node:net'
import { startAuthorizationServer, type AuthorizationServerOptions } from './authorization-server.js'
import { acmeCustomers } from './people.js'
import { loopback } from './ports.js'

export interface AcmeOptions {
  /** Redirection endpoints of the one client that Acme knows. */
  readonly redirectUris?: readonly string[]
  /** What the client may ask for tokens with. @default ['authorization_code', 'refresh_token'] */
  readonly grantTypes?: readonly string[]
  /** @default 300 */
  readonly accessTokenTtlSeconds?: number
  /** Port of the authorization server. @default 0, any free port */
  readonly port?: number
  /** Port of the API. @default 0, any free port */
  readonly apiPort?: number
  /** Path of the database that keeps what the authorization server knows. @default ':memory:' */
  readonly database?: string
  readonly observe?: AuthorizationServerOptions['observe']
  /** Settings of oidc-provider that replace the demo's. */
  readonly settings?: AuthorizationServerOptions['settings']
}

export interface Acme {
  readonly issuer: string
  readonly apiOrigin: string
  readonly clientId: string
  readonly clientSecret: string
  readonly tokenRequests: number
  readonly authorizationRequests: number
  /** How many requests the API has seen, good ones and bad ones. */
  readonly apiRequests: number
  /** Replaces the redirection endpoints of the client. */
  setRedirectUris (redirectUris: readonly string[]): Promise<void>
  /** Makes every access token worthless from now on; refresh tokens stay. */
  forgetAccessTokens (): void
  close (): Promise<void>
}

const issues = [
  { number: 1, state: 'open', title: 'The rabbit hole is too deep' },
  { number: 2, state: 'open', title: 'The tea is cold' },
  { number: 3, state: 'closed', title: 'The clock is two days slow' }
]

/** Starts the third party: an authorization server, and an API that takes its opaque access tokens. */
export async function startAcme (options: AcmeOptions = {}): Promise<Acme> {
  const clientId = 'demo-app'
  const clientSecret = randomBytes(32).toString('base64url')
  const authorizationServer = await startAuthorizationServer({
    site: { name: 'Acme', color: '#b3261e' },
    people: acmeCustomers,
    scopes: { 'issues:read': 'read your issues', 'issues:write': 'change your issues' },
    accessTokenTtlSeconds: options.accessTokenTtlSeconds,
    port: options.port,
    database: options.database,
    observe: options.observe,
    settings: options.settings
  })
  const setRedirectUris = async (redirectUris: readonly string[]) => {
    await authorizationServer.registerClient({
      client_id: clientId,
      client_secret: clientSecret,
      client_name: 'Demo App',
      token_endpoint_auth_method: 'client_secret_basic',
      grant_types: [...options.grantTypes ?? ['authorization_code', 'refresh_token']],
      redirect_uris: [...redirectUris]
    })
  }
  let apiRequests = 0
  const api = Fastify({ forceCloseConnections: true })
  api.addHook('onRequest', async () => { apiRequests += 1 })
  api.get<{ Querystring: { state?: string } }>('/api/issues', async (request, reply) => {
    const [, bearer] = /^Bearer ([\w-]+)$/i.exec(request.headers.authorization ?? '') ?? []
    const token = bearer == null ? undefined : await authorizationServer.findAccessToken(bearer)
    if (token == null) {
      return await reply.code(401).header('www-authenticate', 'Bearer error="invalid_token"').send({ error: 'invalid_token' })
    }
    if (!token.scopes.has('issues:read')) {
      return await reply.code(403)
        .header('www-authenticate', 'Bearer error="insufficient_scope", scope="issues:read"')
        .send({ error: 'insufficient_scope' })
    }
    const customer = acmeCustomers.find(({ subject }) => subject === token.accountId)
    const { state } = request.query
    return {
      account: customer?.login,
      issues: issues
        .filter(issue => state == null || issue.state === state)
        .map(issue => ({ ...issue, assignee: customer?.name }))
    }
  })
  const close = async () => {
    await api.close()
    await authorizationServer.close()
  }
  try {
    await setRedirectUris(options.redirectUris ?? [])
    await api.listen({ host: loopback, port: options.apiPort ?? 0 })
  } catch (error) {
    await close()
    throw error
  }

  return {
    issuer: authorizationServer.issuer,
    apiOrigin: `http://${loopback}:${(api.server.address() as AddressInfo).port}`,
    clientId,
    clientSecret,
    get tokenRequests () { return authorizationServer.tokenRequests },
    get authorizationRequests () { return authorizationServer.authorizationRequests },
    get apiRequests () { return apiRequests },
    setRedirectUris,
    forgetAccessTokens: authorizationServer.forgetAccessTokens,
    close
  }
}
