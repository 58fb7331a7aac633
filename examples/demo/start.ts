import type { FastifyInstance } from 'fastify'
import type { McpConnectOptions } from 'fastify-mcp-connect'
import { startAcme, type Acme } from './acme.js'
import { buildApp, exampleCorp, mcpScope } from './app.js'
import { startAuthorizationServer, type AuthorizationServer } from './authorization-server.js'
import { employees } from './people.js'
import { loopback, reservePort } from './ports.js'

export interface DemoOptions {
  /** Port of the app. @default 0, any free port */
  readonly port?: number
  /** Options of the plugin that replace the demo's own. */
  readonly connect?: Partial<McpConnectOptions>
  /** Lifetime of Acme's access tokens. @default 300 */
  readonly acmeAccessTokenTtlSeconds?: number
}

/** Everything that runs. */
export interface Demo {
  readonly baseUrl: string
  readonly mcpUrl: string
  readonly app: FastifyInstance
  readonly authorizationServer: AuthorizationServer
  readonly acme: Acme
  /** The MCP client's registration at the authorization server. */
  readonly client: { readonly clientId: string, readonly redirectUri: string }
  close (): Promise<void>
}

/** Starts the authorization server, Acme and the app, all of them on loopback. */
export async function startDemo (options: DemoOptions = {}): Promise<Demo> {
  const closers: Array<() => Promise<void>> = []
  const close = async () => {
    for (const closer of closers.splice(0).reverse()) await closer()
  }
  try {
    const reserved = await reservePort(options.port ?? 0)
    closers.push(reserved.release)
    const baseUrl = `http://localhost:${reserved.port}`
    const mcpUrl = `${baseUrl}/mcp`
    // A native client (RFC 8252): nothing listens here, since no browser of the demo ever goes there.
    const client = { clientId: 'terminal-client', redirectUri: `http://${loopback}/signed-in` }

    const authorizationServer = await startAuthorizationServer({
      site: exampleCorp,
      people: employees,
      scopes: { [mcpScope]: 'use its tools in your name' },
      resources: [mcpUrl],
      clients: [{
        client_id: client.clientId,
        client_name: 'Terminal client',
        application_type: 'native',
        token_endpoint_auth_method: 'none',
        redirect_uris: [client.redirectUri]
      }]
    })
    closers.push(authorizationServer.close)

    const acme = await startAcme({
      redirectUris: [`${baseUrl}/connect/callback/acme`],
      accessTokenTtlSeconds: options.acmeAccessTokenTtlSeconds
    })
    closers.push(acme.close)

    const app = await buildApp({ baseUrl, authorizationServer, acme, connect: options.connect })
    closers.push(async () => { await app.close() })
    await reserved.release()
    await app.listen({ host: loopback, port: reserved.port })

    return { baseUrl, mcpUrl, app, authorizationServer, acme, client, close }
  } catch (error) {
    await close()
    throw error
  }
}
