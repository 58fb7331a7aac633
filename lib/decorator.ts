import type { AtProvider } from './account.js'
import type { AuditIds } from './audit-events.js'
import type { Connection, Disconnected, Principal } from './types.js'

/** Augment it with your providers and `requireConnection` knows their names: `{ github: Connection }`. */
export interface McpConnectProviders {}

export type ProviderName = keyof McpConnectProviders extends never ? string : keyof McpConnectProviders & string
export type ConnectionOf<N extends string> = N extends keyof McpConnectProviders ? McpConnectProviders[N] : Connection

/** What a handler requires of a connection. */
export interface RequireOptions {
  /** Scopes that the handler needs, beyond the provider's own `scopes`. @default [] */
  readonly scopes?: readonly string[]
  /**
   * Which of the user's accounts at the provider, by its identifier or label there; or a function of what the handler is called with, such
   * as `({ account }) => account`. When no such account is connected, the user is asked to connect it. @default the user's default account
   */
  readonly account?: string | ((...args: any[]) => string | undefined)
  /** Why, to the person who is asked, after "Connect GitHub": `to list your issues`. Plain text without a URL. */
  readonly reason?: string
}

/** What is needed of an MCP server; `McpServer` of the MCP SDK has it. */
export interface McpServerLike {
  readonly server: { getClientCapabilities (): unknown }
  registerResource (name: any, template: any, config: any, callback: any): unknown
}

/** What is needed of the protocol's own server; `Server` of the MCP SDK has it. */
export interface LowLevelServerLike {
  getClientCapabilities (): unknown
  fallbackRequestHandler?: (request: any, context: any) => Promise<any>
}

/** Whatever `mcpConnect.for` takes, of SDK v1 (`@modelcontextprotocol/sdk`) or v2 (`@modelcontextprotocol/server`). */
export type AnyServerLike = McpServerLike | LowLevelServerLike

/**
 * The context type that the given server's SDK passes to handlers. The last overload of `registerResource` is the only
 * place where SDK v1 names it last, whatever the schema.
 */
export type ContextOf<S> = S extends { registerResource (n: any, t: any, c: any, callback: infer F): unknown }
  ? F extends (uri: any, variables: any, context: infer C) => unknown ? C : never
  : S extends { fallbackRequestHandler?: (request: any, context: infer C) => unknown } ? C : never

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

/** What `removePrincipal` has done. */
export interface RemovalReport {
  /** Providers that the principal was connected to. */
  readonly connections: number
  /** How many grants there were, by what became of them at the provider. What cannot be read counts as one. */
  readonly grants: Readonly<Record<AtProvider, number>>
}

/** `app.mcpConnect`. */
export interface McpConnect {
  /** The page where people see, make and end their connections. Safe to show anywhere: it holds no id. */
  readonly connectionsUrl: string
  /**
   * Makes the guard for one MCP server: an `McpServer`, or the protocol's own `Server`, whose handlers get `(connection, request, context)`.
   * @throws FST_MCP_CONNECT_NOT_MCP_SERVER when it is none
   * @throws FST_MCP_CONNECT_SDK_MISSING when no copy of the MCP SDK can be loaded
   * @throws FST_MCP_CONNECT_SDK_MISMATCH when the server comes from a copy of the MCP SDK that this package cannot load
   * @throws FST_MCP_CONNECT_SDK_UNREACHABLE when it is of SDK v2, and this package cannot load that
   */
  for<S extends AnyServerLike> (server: S): Guard<ContextOf<S>>
  /**
   * The address to register at a provider.
   * @param issuer of an authorization server that is a tenant's own
   * @throws FST_MCP_CONNECT_UNKNOWN_PROVIDER
   */
  redirectUri (provider: string, issuer?: string): string
  /**
   * Seals every grant in the vault with the newest of `keys`, while calls go on. Once every process has the new key first, and
   * a dry run finds nothing left to do and nothing unreadable, older keys can be taken out.
   * @throws FST_MCP_CONNECT_ADAPTER_FAILED when the vault fails: call it again, and it goes on
   * @throws FST_MCP_CONNECT_ADAPTER_INVALID when the vault returns something else than it must
   * @throws FST_MCP_CONNECT_STORE_TIMEOUT when it does not answer in time: the same
   * @throws FST_MCP_CONNECT_STORE_CONTENTION when others change one grant again and again
   */
  reseal (options?: ResealOptions): Promise<ResealReport>
  /**
   * Ends a connection: deletes its grants here, and then has the provider end them, which is waited for a few seconds. What is under way does not
   * bring it back: an open link has to be started again, and a refresh is undone.
   * @param account one account alone, by its identifier or label at the provider; omitted: all of them
   * @returns what became of each grant; empty when there was none
   * @throws FST_MCP_CONNECT_UNKNOWN_PROVIDER when no such provider is configured
   * @throws FST_MCP_CONNECT_OPTIONS when it is no principal
   * @throws FST_MCP_CONNECT_ADAPTER_FAILED, FST_MCP_CONNECT_STORE_CONTENTION when the store or vault fails: call it again
   */
  disconnect (principal: Principal, provider: ProviderName, account?: string): Promise<readonly Disconnected[]>
  /**
   * Removes all that there is of a principal, as when an account is closed or has to be erased: ends what is under way and, with `oidcLogin`, browser
   * sessions, deletes all grants, also those of providers that are not configured any more, and has the providers end them. Close the account at the
   * authorization server first: whoever can sign in can connect again.
   * @throws FST_MCP_CONNECT_OPTIONS when it is no principal
   * @throws FST_MCP_CONNECT_ADAPTER_FAILED, FST_MCP_CONNECT_STORE_CONTENTION when the store or vault fails: call it again, and it goes on
   */
  removePrincipal (principal: Principal): Promise<RemovalReport>
  /**
   * Ends every session of a principal that `oidcLogin` has begun, in whatever browser and process, as when an account is closed.
   * Close it at the authorization server first: whoever has a session there is signed in again without a question.
   * @throws FST_MCP_CONNECT_OPTIONS when the option `browser` is a login of your own
   */
  revokeBrowserSessions (principal: Principal): Promise<void>
  /**
   * What a principal and its tenant are called in the events of `onAudit`: to find what is known of somebody.
   * @throws FST_MCP_CONNECT_OPTIONS when it is no principal
   */
  auditIdsOf (principal: Principal): AuditIds
}
