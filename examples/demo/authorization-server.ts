import { randomBytes } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import { once } from 'node:events'
import { html } from 'ghtml'
import { exportJWK, generateKeyPair } from 'jose'
import type { AccessToken, ClientMetadata, Configuration } from 'oidc-provider'
import { InvalidTarget } from 'oidc-provider/lib/helpers/errors.js'
import { Provider } from 'oidc-provider/lib/provider.js'
import { createAuthorizationServerRecords, type AuthorizationServerRecords } from './authorization-server-records.js'
import { inMemory, openDatabase } from './database.js'
import { interactionPages } from './interactions.js'
import { page, pageHeaders, type Site } from './page.js'
import type { Person } from './people.js'
import { listenOnLoopback, loopback } from './ports.js'

export interface AuthorizationServerOptions {
  /** Whose authorization server it is; shown on its pages. */
  readonly site: Site
  readonly people: readonly Person[]
  readonly clients?: readonly ClientMetadata[]
  /** What each scope allows, to the person who consents: `read your issues`. */
  readonly scopes: Readonly<Record<string, string>>
  /** Resource indicators (RFC 8707). Access tokens for them are JWTs with the resource as `aud`; others are opaque. */
  readonly resources?: readonly string[]
  /** @default 300 */
  readonly accessTokenTtlSeconds?: number
  /** @default 0, any free port */
  readonly port?: number
  /** Path of the database that keeps its records. @default ':memory:' */
  readonly database?: string
  /** Settings of oidc-provider that replace those below. */
  readonly settings?: Configuration
  /** For tests: sees each request once it is answered, with what is secret in it. */
  readonly observe?: (seen: Observed) => void
}

/** A request that was answered. */
export interface Observed {
  readonly path: string
  /** The header by which the client has authenticated; empty without one. */
  readonly authorization: string
  readonly params: Readonly<Record<string, unknown>>
  /** Where the browser is sent; empty when it is not. */
  readonly location: string
  readonly body: unknown
}

export interface AuthorizationServer {
  readonly issuer: string
  readonly jwksUri: string
  /** How often the token endpoint was asked. */
  readonly tokenRequests: number
  /** How many authorization requests came. */
  readonly authorizationRequests: number
  /** Adds a client, or replaces the one with the same `client_id`. */
  registerClient (client: ClientMetadata): Promise<void>
  /** Looks up an opaque access token that is still good. */
  findAccessToken (token: string): Promise<AccessToken | undefined>
  /** Makes every opaque access token worthless from now on; refresh tokens stay. */
  forgetAccessTokens (): void
  close (): Promise<void>
}

/**
 * Starts an authorization server of its own kind: oidc-provider, records in SQLite, PKCE for every client, refresh
 * tokens that work once. Opaque tokens are records and outlive it; its keys, and with them JWTs and cookies, do not.
 * Two of them share 127.0.0.1 and with it the browser's cookies (cookies ignore ports), so each names its cookies
 * after its site.
 */
export async function startAuthorizationServer (options: AuthorizationServerOptions): Promise<AuthorizationServer> {
  const database = openDatabase(options.database ?? inMemory)
  const server = createServer()
  let closed = false
  const close = async () => {
    if (closed) return
    closed = true
    if (server.listening) {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    }
    database.close()
  }
  try {
    const records = createAuthorizationServerRecords(database, options.site.name)
    const issuer = `http://${loopback}:${await listenOnLoopback(server, options.port ?? 0)}`
    return await setUp({ server, issuer, records, close }, options)
  } catch (error) {
    await close()
    throw error
  }
}

interface Parts {
  readonly server: Server
  readonly issuer: string
  readonly records: AuthorizationServerRecords
  readonly close: AuthorizationServer['close']
}

async function setUp ({ server, issuer, records, close }: Parts, options: AuthorizationServerOptions): Promise<AuthorizationServer> {
  const { site, people, clients = [], scopes, resources = [], accessTokenTtlSeconds = 300 } = options
  const { privateKey } = await generateKeyPair('ES256', { extractable: true })
  const cookie = site.name.toLowerCase().replaceAll(/[^a-z]/g, '')
  const day = 24 * 60 * 60

  const provider = new Provider(issuer, {
    adapter: kind => records.adapter(kind),
    jwks: { keys: [{ ...await exportJWK(privateKey), use: 'sig', alg: 'ES256' }] },
    cookies: {
      keys: [randomBytes(32).toString('base64url')],
      names: { session: `${cookie}_session`, interaction: `${cookie}_interaction`, resume: `${cookie}_resume` }
    },
    scopes: Object.keys(scopes),
    claims: { openid: ['sub'], profile: ['preferred_username', 'name'] },
    clientDefaults: { grant_types: ['authorization_code', 'refresh_token'], id_token_signed_response_alg: 'ES256' },
    pkce: { required: () => true },
    rotateRefreshToken: true,
    issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    expiresWithSession: async () => false,
    clockTolerance: 0,
    ttl: {
      AccessToken: accessTokenTtlSeconds,
      AuthorizationCode: 60,
      IdToken: 5 * 60,
      Interaction: 15 * 60,
      RefreshToken: day,
      Session: day,
      Grant: day
    },
    clientBasedCORS: () => false,
    findAccount: async (_ctx, subject) => {
      const person = people.find(candidate => candidate.subject === subject)
      if (person == null) return undefined
      return { accountId: subject, claims: async () => ({ sub: subject, preferred_username: person.login, name: person.name }) }
    },
    interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
    features: {
      devInteractions: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      revocation: { enabled: true, allowedPolicy: async (_ctx, client, token) => token.clientId === client.clientId },
      resourceIndicators: {
        enabled: resources.length > 0,
        getResourceServerInfo: async (_ctx, resource) => {
          if (!resources.includes(resource)) throw new InvalidTarget()
          return {
            audience: resource,
            scope: Object.keys(scopes).join(' '),
            accessTokenFormat: 'jwt',
            jwt: { sign: { alg: 'ES256' } }
          }
        }
      }
    },
    renderError: async (ctx, { error, error_description: description }) => {
      ctx.set(pageHeaders)
      ctx.body = page(site, 'This did not work', html`<p>${error}${description == null ? '' : `: ${description}`}</p>`)
    },
    ...options.settings
  })

  let tokenRequests = 0
  let authorizationRequests = 0
  provider.use(async (ctx, next) => {
    if (ctx.path === '/token' && ctx.method === 'POST') tokenRequests += 1
    if (ctx.path === '/auth') authorizationRequests += 1
    await next()
    options.observe?.({
      path: ctx.path, authorization: ctx.get('authorization'), params: ctx.oidc?.params ?? {}, location: ctx.response.get('location'), body: ctx.body
    })
  })
  provider.use(interactionPages(provider, { site, people, scopes }))
  const registerClient = async (client: ClientMetadata) => {
    await records.adapter('Client').upsert(client.client_id, client, Infinity)
  }
  for (const client of clients) await registerClient(client)
  server.on('request', provider.callback())

  return {
    issuer,
    jwksUri: `${issuer}/jwks`,
    get tokenRequests () { return tokenRequests },
    get authorizationRequests () { return authorizationRequests },
    registerClient,
    // Records end to the millisecond, while oidc-provider counts in whole seconds.
    findAccessToken: async token => await provider.AccessToken.find(token, { ignoreExpiration: true }),
    forgetAccessTokens: () => records.forget('AccessToken'),
    close
  }
}
