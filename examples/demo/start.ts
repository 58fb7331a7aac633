import { randomBytes } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import type { McpConnectOptions } from 'fastify-mcp-connect'
import type { Configuration } from 'oidc-provider'
import { startAcme, type Acme } from './acme.js'
import { buildApp, exampleCorp, mcpScope } from './app.js'
import { startAuthorizationServer, type AuthorizationServer } from './authorization-server.js'
import { inMemory, openDatabase } from './database.js'
import { employees } from './people.js'
import { isPortTaken, loopback, portOf, reservePort } from './ports.js'
import { openSettings } from './settings.js'

export interface DemoOptions {
  /** Path of the database; a later run on the same one goes on where this one ends. @default ':memory:' */
  readonly database?: string
  /** Port of the app. @default that of an earlier run, or any free port */
  readonly port?: number
  /** Options of the plugin that replace the demo's own; they may depend on the issuer of the authorization server. */
  readonly connect?: Partial<McpConnectOptions> | ((issuer: string) => Partial<McpConnectOptions>)
  /** Settings of the authorization server that replace the demo's own. */
  readonly authorizationServer?: Configuration
  /** Lifetime of Acme's access tokens. @default 86400, a day */
  readonly acmeAccessTokenTtlSeconds?: number
}

/** Everything that runs. */
export interface Demo {
  readonly baseUrl: string
  readonly mcpUrl: string
  /** Path of the database. */
  readonly database: string
  readonly app: FastifyInstance
  readonly authorizationServer: AuthorizationServer
  readonly acme: Acme
  /** The MCP client's registration at the authorization server. */
  readonly client: { readonly clientId: string, readonly redirectUri: string }
  close (): Promise<void>
}

/** Where an earlier run was. A connection belongs to an issuer's user at another issuer, and issuers have ports. */
interface Ports {
  readonly app: number
  readonly authorizationServer: number
  readonly acme: number
  readonly acmeApi: number
}

/** Starts the authorization server, Acme and the app, all of them on loopback. */
export async function startDemo (options: DemoOptions = {}): Promise<Demo> {
  const { database = inMemory, acmeAccessTokenTtlSeconds = 24 * 60 * 60 } = options
  const closers: Array<() => unknown> = []
  const close = async () => {
    const errors: unknown[] = []
    for (const closer of closers.splice(0).reverse()) {
      try {
        await closer()
      } catch (error) {
        errors.push(error)
      }
    }
    if (errors.length > 0) throw errors[0]
  }
  let ports: Ports | undefined
  try {
    const settings = openSettings(database)
    closers.push(settings.close)
    ports = settings.read<Ports>('ports')

    const reserved = await reservePort(options.port ?? ports?.app ?? 0)
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
      }],
      port: ports?.authorizationServer,
      database,
      settings: options.authorizationServer
    })
    closers.push(authorizationServer.close)

    const acme = await startAcme({
      redirectUris: [`${baseUrl}/connect/callback/acme`],
      accessTokenTtlSeconds: acmeAccessTokenTtlSeconds,
      port: ports?.acme,
      apiPort: ports?.acmeApi,
      database
    })
    closers.push(acme.close)

    // For the demo only: whoever has the file has the key too. Yours comes from a secret manager and lies nowhere near the data.
    const encryptionKey = settings.read<string>('encryptionKey') ?? randomBytes(32).toString('base64')
    settings.write('encryptionKey', encryptionKey)

    const connect = typeof options.connect === 'function' ? options.connect(authorizationServer.issuer) : options.connect
    const connections = openDatabase(database)
    closers.push(() => connections.close())
    const app = await buildApp({ baseUrl, authorizationServer, acme, database: connections, encryptionKey, connect })
    closers.push(async () => { await app.close() })
    await reserved.release()
    await app.listen({ host: loopback, port: reserved.port })

    settings.write('ports', {
      app: reserved.port,
      authorizationServer: portOf(authorizationServer.issuer),
      acme: portOf(acme.issuer),
      acmeApi: portOf(acme.apiOrigin)
    } satisfies Ports)
    return { baseUrl, mcpUrl, database, app, authorizationServer, acme, client, close }
  } catch (error) {
    await close().catch(() => {})
    if (ports != null && isPortTaken(error) && error.port !== options.port) {
      throw new Error(`port ${error.port}, where an earlier run was, is taken, perhaps by another demo. ` +
        'End what listens there, or begin anew: npm run demo -- --fresh')
    }
    throw error
  }
}
