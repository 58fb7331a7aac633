import type { FastifyReply, FastifyRequest } from 'fastify'
import type { allowLoopbackHttp } from './loopback.js'

/**
 * The authenticated MCP user. Two principals are the same when all three members are equal, code unit by code unit.
 */
export interface Principal {
  /** The authorization server that vouches for the user (`iss`). */
  readonly issuer: string
  /** The user's stable identifier there (`sub`). */
  readonly subject: string
  /** The tenant, where one server serves several. */
  readonly tenant?: string
}

/** The claims of a verified access token, by name. */
export type Claims = Readonly<Record<string, unknown>>

/** A person who is signed in to the host application in the browser at hand. */
export interface BrowserUser extends Principal {
  /** How this account is named to the person, such as an e-mail address. Shown on pages only. */
  readonly label?: string
}

/** How the host application tells who is in front of the browser. */
export interface BrowserIdentity {
  /**
   * Tells who is signed in. Must depend on the host's own browser session alone, never on the URL or on a form.
   * @returns the signed-in user, or `null` when nobody is signed in
   */
  identify (request: FastifyRequest, reply: FastifyReply): Promise<BrowserUser | null> | BrowserUser | null
  /**
   * The address of the host's sign-in page.
   * @param returnTo path on this server to come back to after signing in; always one of this plugin's own paths
   * @returns a path on this server, or an absolute URL
   */
  signInUrl? (returnTo: string): string
}

/** What a provider granted to one principal (RFC 6749 section 5.1). */
export interface Grant {
  readonly accessToken: string
  readonly refreshToken?: string
  /** Granted scopes; those that were asked for when the provider did not say (RFC 6749 section 5.1). */
  readonly scopes: readonly string[]
  /** Scopes that were asked for, by this authorization, or by an earlier one of the same connection that withheld them. */
  readonly requestedScopes: readonly string[]
  /** Epoch milliseconds; absent when the provider did not tell a lifetime. */
  readonly expiresAt?: number
}

/** A live connection, as a guarded handler receives it. It never shows its token to JSON, `util.inspect` or a log. */
export interface Connection {
  /** The key of the provider in the plugin's options. */
  readonly provider: string
  /** Granted scopes. */
  readonly scopes: readonly string[]
  /** When the access token expires, in epoch milliseconds; `undefined` when the provider did not say. */
  readonly expiresAt: number | undefined
  /**
   * `fetch` with the user's access token (RFC 6750 section 2.1), for the provider's `apiOrigins` alone.
   * @throws FST_MCP_CONNECT_API_ORIGIN when the URL lies outside of them
   */
  fetch (input: string | URL | Request, init?: RequestInit): Promise<Response>
  /** The access token itself, for libraries that want one. Keep it away from results, errors and logs. */
  accessToken (): Promise<string>
}

/** One third party: its authorization server, this server's registration there, and its API. */
export interface ProviderDefinition {
  /** How people call it, such as `GitHub`. */
  readonly name: string
  /** The issuer identifier (RFC 8414). Authorization responses that name another `iss` are refused (RFC 9207). */
  readonly issuer: string
  /** Endpoints, for authorization servers without metadata. Without them they are discovered from `issuer`. */
  readonly endpoints?: { readonly authorization: string, readonly token: string }
  readonly clientId: string
  /** Absent for a public client. */
  readonly clientSecret?: string
  /** How the client secret is sent (RFC 6749 section 2.3.1). @default 'client_secret_basic' */
  readonly clientAuthentication?: 'client_secret_basic' | 'client_secret_post'
  /** Scopes that every authorization request asks for. @default [] */
  readonly scopes?: readonly string[]
  /** What separates scopes in this provider's answers. @default ' ' */
  readonly scopeSeparator?: ' ' | ','
  /** Resource indicator of the third party's API (RFC 8707). */
  readonly resource?: string
  /** Further parameters of the authorization request. */
  readonly authorizationParameters?: Readonly<Record<string, string>>
  /** Origins that `connection.fetch` may send the access token to. */
  readonly apiOrigins: readonly string[]
  /** Unsafe: lets `http:` addresses through that lead to this machine. For development and tests. */
  readonly [allowLoopbackHttp]?: boolean
}

/** A checked and complete definition. */
export interface Provider extends ProviderDefinition {
  readonly clientAuthentication: 'client_secret_basic' | 'client_secret_post'
  readonly scopes: readonly string[]
  readonly scopeSeparator: ' ' | ','
  readonly authorizationParameters: Readonly<Record<string, string>>
}

/** Chosen by the adapter; never reused for a key, not even after a delete. */
export type Revision = string

export interface Stored {
  readonly value: string
  readonly revision: Revision
}

/** Storage of sealed grants. It sees sealed strings alone; `owner` and `name` are 64 hexadecimal digits. */
export interface TokenVault {
  /** @returns the entry, or `null` when there is none */
  get (owner: string, name: string): Promise<Stored | null>
  /**
   * Writes in one atomic step.
   * @param expected the revision that must be there; `null` when there must be none
   * @returns the new revision, or `null` when the race is lost
   */
  put (owner: string, name: string, value: string, expected: Revision | null): Promise<Revision | null>
  /** Deletes in one atomic step. @returns `false` when the revision was not there */
  delete (owner: string, name: string, expected: Revision): Promise<boolean>
  /** Pages through the entries, of one owner or of all. @returns `cursor: null` on the last page */
  list (query: { readonly owner?: string, readonly cursor?: string, readonly limit: number }):
  Promise<{ readonly entries: ReadonlyArray<{ readonly owner: string, readonly name: string }>, readonly cursor: string | null }>
}

/** Storage of short-lived records. An expired record is a missing one, by the store's clock. */
export interface StateStore {
  /** @returns the record, or `null` when there is none */
  get (key: string): Promise<Stored | null>
  /**
   * Writes in one atomic step.
   * @param expected the revision that must be there; `null` when there must be none
   * @param ttlMs lifetime from now on; omitted: the record keeps its expiry, and a new one never expires
   * @returns the new revision, or `null` when the race is lost
   */
  put (key: string, value: string, expected: Revision | null, ttlMs?: number): Promise<Revision | null>
  /** Deletes in one atomic step. @returns `false` when the revision was not there */
  delete (key: string, expected: Revision): Promise<boolean>
  /**
   * Counts one event in a fixed window that starts with its first event.
   * @returns the events in the window, this one included, and the milliseconds until it ends
   */
  count (key: string, windowMs: number): Promise<{ readonly count: number, readonly resetMs: number }>
}

/** Best-effort messages between the processes that share a store. */
export interface Bus {
  publish (message: string): Promise<void>
  /** @returns a function that ends the subscription */
  subscribe (listener: (message: string) => void): Promise<() => Promise<void>>
}

/** Where everything is kept. A plain object, so that parts of several stores can be mixed. */
export interface Store {
  readonly vault: TokenVault
  readonly state: StateStore
  readonly bus: Bus
  /** Called once, while the application closes, when nothing else uses the store any longer. */
  close (): Promise<void>
}

/** Options of the plugin. */
export interface McpConnectOptions {
  /**
   * Public base URL of this server. Every URL is built from it, never from `Host`. `http:` on loopback only. A path in it is
   * what a proxy in front takes off; it is put before the application's own prefix.
   */
  readonly baseUrl: string
  /** Path under which the plugin's pages live. @default '/connect' */
  readonly prefix?: string
  /** How this server is named to people. @default the host of `baseUrl` */
  readonly name?: string
  /** Where records and sealed grants are kept. */
  readonly store: Store
  /** A vault of your own instead of the store's. @default store.vault */
  readonly vault?: TokenVault
  /** Encryption keys, the newest first, each 32 random bytes or more in base64 or hexadecimal. */
  readonly keys: readonly string[]
  /** Turns the verified claims of an access token into a principal. @default claims => ({ issuer: claims.iss, subject: claims.sub }) */
  readonly principal?: (claims: Claims) => Readonly<Record<'issuer' | 'subject', unknown> & { tenant?: unknown }>
  /** Who is in front of the browser. */
  readonly browser: BrowserIdentity
  /** The third parties, by key. */
  readonly providers: Readonly<Record<string, ProviderDefinition>>
  /** A business rule, asked at the guard, at the page and at the redirection endpoint. @default () => true */
  readonly authorize?: (principal: Principal, provider: string) => Promise<boolean> | boolean
  /** What a client gets whose capabilities are unknown, as with stateless serving. @default 'fallback' */
  readonly whenCapabilityUnknown?: 'fallback' | 'elicit'
  /** How long a link can be used, from a minute to a day. @default 900000 (15 minutes) */
  readonly elicitationTtlMs?: number
  /** How long nobody is asked again after having declined, a day at most. @default 300000 (5 minutes) */
  readonly declineCoolDownMs?: number
}

/** Augment it with your providers and `requireConnection` knows their names: `{ github: Connection }`. */
export interface McpConnectProviders {}

export type ProviderName = keyof McpConnectProviders extends never ? string : keyof McpConnectProviders & string
export type ConnectionOf<N extends string> = N extends keyof McpConnectProviders ? McpConnectProviders[N] : Connection

/** What a handler requires of a connection. */
export interface RequireOptions {
  /** Scopes that the handler needs, beyond the provider's own `scopes`. @default [] */
  readonly scopes?: readonly string[]
  /** Why, to the person who is asked, after "Connect GitHub": `to list your issues`. Plain text without a URL. */
  readonly reason?: string
}

/** What is needed of an MCP server; `McpServer` of the MCP SDK has it. */
export interface McpServerLike {
  readonly server: { getClientCapabilities (): unknown }
  registerResource (name: any, template: any, config: any, callback: any): unknown
}

/**
 * The context type that the given server's SDK passes to handlers. The last overload of `registerResource` is the only
 * place where SDK v1 names it last, whatever the schema.
 */
export type ContextOf<S> = S extends { registerResource (n: any, t: any, c: any, callback: infer F): unknown }
  ? F extends (uri: any, variables: any, context: infer C) => unknown ? C : never
  : never

/** Wraps handlers of one MCP server. */
export interface Guard<Ctx> {
  /**
   * Wraps the handler of a tool, prompt or resource, so that it runs with a live connection and not without one.
   * The connection comes first, then whatever the SDK passes; for several providers, an object of connections by key.
   * @throws FST_MCP_CONNECT_UNKNOWN_PROVIDER when no such provider is configured
   * @throws FST_MCP_CONNECT_GUARD_OPTIONS when the options are wrong
   */
  requireConnection<const N extends readonly [ProviderName, ...ProviderName[]], A extends unknown[] = [Ctx], R = never> (
    providers: N,
    handler: (connections: { readonly [K in N[number]]: ConnectionOf<K> }, ...args: A) => R | Promise<R>): (...args: A) => Promise<R>
  /** Several providers, with options by provider. */
  requireConnection<const N extends readonly [ProviderName, ...ProviderName[]], A extends unknown[] = [Ctx], R = never> (
    providers: N,
    options: { readonly [K in N[number]]?: RequireOptions },
    handler: (connections: { readonly [K in N[number]]: ConnectionOf<K> }, ...args: A) => R | Promise<R>): (...args: A) => Promise<R>
  /** One provider. */
  requireConnection<N extends ProviderName, A extends unknown[] = [Ctx], R = never> (
    provider: N,
    handler: (connection: ConnectionOf<N>, ...args: A) => R | Promise<R>): (...args: A) => Promise<R>
  /** One provider, with options. */
  requireConnection<N extends ProviderName, A extends unknown[] = [Ctx], R = never> (
    provider: N,
    options: RequireOptions,
    handler: (connection: ConnectionOf<N>, ...args: A) => R | Promise<R>): (...args: A) => Promise<R>
}

/** How resealing goes. */
export interface ResealOptions {
  /** Opens everything and writes nothing. @default false */
  readonly dryRun?: boolean
  /** Is called with what is done so far, now and then. */
  readonly onProgress?: (report: ResealReport) => void
}

/** What resealing found. Entries that are deleted meanwhile are not counted. */
export interface ResealReport {
  /** Entries that were looked at. */
  readonly entries: number
  /** Of them, those that the newest key had sealed already. */
  readonly current: number
  /** Those that an older key had sealed: they are sealed with the newest now; in a dry run, they would be. */
  readonly resealed: number
  /** How many cannot be opened, by the id of the key that they name. They stay as they are. */
  readonly unreadable: Readonly<Record<string, number>>
}

/** `app.mcpConnect`. */
export interface McpConnect {
  /** The page where people see, make and end their connections. Safe to show anywhere: it holds no id. */
  readonly connectionsUrl: string
  /**
   * Makes the guard for one MCP server.
   * @throws FST_MCP_CONNECT_NOT_MCP_SERVER when it is none
   * @throws FST_MCP_CONNECT_SDK_MISSING when no copy of the MCP SDK can be loaded
   * @throws FST_MCP_CONNECT_SDK_MISMATCH when the server comes from a copy of the MCP SDK that this package cannot load
   */
  for<S extends McpServerLike> (server: S): Guard<ContextOf<S>>
  /**
   * Seals every grant in the vault with the newest of `keys`, while calls go on. Once every process has the new key first, and
   * a dry run finds nothing left to do and nothing unreadable, older keys can be taken out.
   * @throws FST_MCP_CONNECT_ADAPTER_FAILED when the vault fails: call it again, and it goes on
   * @throws FST_MCP_CONNECT_ADAPTER_INVALID when the vault returns something else than it must
   * @throws FST_MCP_CONNECT_STORE_TIMEOUT when it does not answer in time: the same
   * @throws FST_MCP_CONNECT_STORE_CONTENTION when others change one grant again and again
   */
  reseal (options?: ResealOptions): Promise<ResealReport>
}
