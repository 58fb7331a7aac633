import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Account, Disconnected } from './account.js'
import type { AuditEvent } from './audit-events.js'
import type { CheckedKey, ClientAuthentication, ClientRegistration, OidcLogin, RegistrationOptions } from './client-registration.js'
import type { Limits } from './limits.js'
import type { allowLoopbackHttp } from './loopback.js'
import type { Store, TokenVault } from './storage.js'

export type { Account, AtProvider, Disconnected } from './account.js'
export type { ClientKey, ClientRegistration, OidcLogin, OidcLoginOptions, RegistrationOptions } from './client-registration.js'
export type { LimitOption, Limits } from './limits.js'

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

/** The claims of a verified access token, or of the token of an `oidcLogin`, by name. */
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
  /**
   * The address where somebody who is signed in can sign in with another account; pages offer it beside the account.
   * @param returnTo as above
   * @returns as above
   */
  switchAccountUrl? (returnTo: string): string
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
  /** Absent when the provider did not tell. */
  readonly account?: Account
}

/** A live connection, as a guarded handler receives it. It never shows its token to JSON, `util.inspect` or a log. */
export interface Connection {
  /** The key of the provider in the plugin's options. */
  readonly provider: string
  /** Granted scopes. */
  readonly scopes: readonly string[]
  /** When the access token expires, in epoch milliseconds; `undefined` when the provider did not say. */
  readonly expiresAt: number | undefined
  /** Whose account it is at the provider, for those that tell (`identity`, or the scope `openid`); `undefined` for others. */
  readonly account: Account | undefined
  /**
   * `fetch` with the user's access token (RFC 6750 section 2.1), for the provider's `apiOrigins` alone: a redirect to another
   * origin is followed without it, and of requests other than GET and HEAD none is followed. After a 401 the token is renewed, and the
   * request is sent once more. Takes a `signal`, and streams as bodies, which are sent once.
   * @throws FST_MCP_CONNECT_API_ORIGIN when the URL lies outside of them; TypeError when it is none, or holds a user or a password
   * @throws FST_MCP_CONNECT_GRANT_ENDED, FST_MCP_CONNECT_REFRESH_FAILED when the access has expired and cannot be renewed
   */
  fetch (input: string | URL | Request, init?: RequestInit): Promise<Response>
  /**
   * The access token itself, for libraries that want one; renewed if it has expired. Keep it away from results, errors and logs.
   * @throws FST_MCP_CONNECT_GRANT_ENDED, FST_MCP_CONNECT_REFRESH_FAILED
   */
  accessToken (): Promise<string>
  /**
   * Ends this connection, of this account alone: deletes the grant here, and has the provider end it too. From then on the handle
   * cannot be used any more; a later call asks the user to connect again.
   * @returns what became of it, or `null` when it was gone already
   * @throws FST_MCP_CONNECT_ADAPTER_FAILED when the store or vault fails: whether it was deleted is not sure, and it can be called again
   */
  disconnect (): Promise<Disconnected | null>
}

/** One third party: its authorization server, this server's registration there, and its API. */
export interface ProviderDefinition extends RegistrationOptions {
  /** How people call it, such as `GitHub`. */
  readonly name: string
  /**
   * Endpoints, for authorization servers without metadata. Without them they are discovered from `issuer`. `refresh` is where tokens are
   * refreshed if that is not `token`, and `revocation` takes tokens back (RFC 7009).
   */
  readonly endpoints?: { readonly authorization: string, readonly token: string, readonly refresh?: string, readonly revocation?: string }
  /** Scopes that every authorization request asks for. @default [] */
  readonly scopes?: readonly string[]
  /**
   * Whether refresh tokens are wanted: `offline_access`, and `prompt=consent` with it, are added to scopes that are asked for wherever the metadata
   * list it (OpenID Connect Core 1.0 section 11, SEP-2207). A `prompt` of `authorizationParameters` stays as it is. Nothing depends on getting one. @default true
   */
  readonly refreshTokens?: boolean
  /** What separates scopes in this provider's answers. @default ' ' */
  readonly scopeSeparator?: ' ' | ','
  /** What separates them in what it is asked (RFC 6749 section 3.3 has a space). @default ' ' */
  readonly requestScopeSeparator?: ' ' | ','
  /** The parameter of the authorization request that holds them. @default 'scope' */
  readonly scopeParameter?: string
  /** What a granted scope allows beside itself, such as `{ repo: ['public_repo'] }`; also for scopes that come back under another name. @default {} */
  readonly impliedScopes?: Readonly<Record<string, readonly string[]>>
  /** Whether it may write scopes in another case than they were asked for. @default false */
  readonly ignoresScopeCase?: boolean
  /** How long an access token lives when the answer does not say. @default until the API answers 401 */
  readonly accessTokenTtlMs?: number
  /**
   * Error codes of the token endpoint, beside those of RFC 6749 section 5.2: `dead`, the grant is gone for good and the user is asked
   * again; `misregistered`, this server's registration is wrong, which is the operator's to mend. All others mean: later. @default {}
   */
  readonly failureCodes?: { readonly dead?: readonly string[], readonly misregistered?: readonly string[] }
  /** How token requests are sent; RFC 6749 section 4.1.3 has a form. @default 'form' */
  readonly tokenRequestFormat?: 'form' | 'json'
  /** Where in the answer the access token response stands, such as `authed_user`. @default the answer itself */
  readonly tokenResponsePath?: string
  /** Headers that its endpoints want beside the usual ones, such as `user-agent`. @default {} */
  readonly requestHeaders?: Readonly<Record<string, string>>
  /** Who the account is, for providers without OpenID Connect. */
  readonly identity?: IdentityDefinition
  /** How a grant is taken back, for providers that have a way of their own instead of RFC 7009. */
  readonly revocationRequest?: (grant: Pick<Grant, 'accessToken' | 'refreshToken'>, registration: Pick<RegistrationOptions, 'clientId' | 'clientSecret'>) => RevocationRequest
  /** Resource indicator of the third party's API (RFC 8707). */
  readonly resource?: string
  /** Origins that `connection.fetch` may send the access token to. */
  readonly apiOrigins: readonly string[]
}

/** What of a provider's registration is a tenant's own. */
export interface TenantRegistration extends ClientRegistration {
  /**
   * An authorization server of the tenant's own, with metadata. Its redirect URI is another one: `mcpConnect.redirectUri(provider, issuer)`.
   * @default the definition's
   */
  readonly issuer?: string
  /** @default the definition's */
  readonly apiOrigins?: readonly string[]
}

type TenantsOwn = 'issuer' | 'clientId' | 'apiOrigins'

/** A third party where each tenant has a registration of its own. */
export interface TenantProviderDefinition extends Omit<ProviderDefinition, TenantsOwn>, Partial<Pick<ProviderDefinition, TenantsOwn>> {
  /**
   * Gives the registration of a tenant, `undefined` for principals without one. For tenants that have none (`null`), it is that of the definition,
   * if there is a `clientId` in it; otherwise there is no such provider for them. It is asked again after a minute.
   */
  readonly registration: (tenant: string | undefined) => Promise<TenantRegistration | null | undefined> | TenantRegistration | null | undefined
}

/** Where it is said who an account is. Paths are names with dots in between, such as `user.id`. */
export interface IdentityDefinition {
  /** Is asked with the access token; absent: it stands in the access token response. */
  readonly url?: string
  /** @default 'GET' */
  readonly method?: 'GET' | 'POST'
  /** The body, in JSON, of a POST. */
  readonly body?: string
  /** Path of the stable identifier, a string or a number. */
  readonly subject: string
  /** Paths of what people call it, the most telling first. @default [] */
  readonly labels?: readonly string[]
}

/** A request that takes a grant back. Status 200 to 299 without an `error` in its JSON, 400 and 404 mean that it is gone. */
export interface RevocationRequest {
  readonly url: string
  readonly method: 'POST' | 'DELETE'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** This server's registration at an authorization server, checked and complete. */
export interface Registration extends Pick<Provider, 'name' | 'issuer' | 'endpoints' | 'clientId' | 'clientSecret' | 'privateKey' | 'clientAuthentication' | 'scopes' |
  'resource' | 'authorizationParameters' | 'privateHosts' | typeof allowLoopbackHttp>,
  Partial<Pick<Provider, 'refreshTokens' | 'requestScopeSeparator' | 'scopeParameter' | 'failureCodes' | 'tokenRequestFormat' | 'tokenResponsePath' | 'requestHeaders'>> {
  /** Whether metadata that do not say so are taken for those of a server with PKCE and `S256`. */
  readonly assumesS256?: boolean
}

/** A checked and complete definition. */
export interface Provider extends ProviderDefinition {
  readonly privateKey?: CheckedKey
  readonly clientAuthentication: ClientAuthentication
  readonly privateHosts: readonly string[]
  readonly scopes: readonly string[]
  readonly refreshTokens: boolean
  readonly scopeSeparator: ' ' | ','
  readonly requestScopeSeparator: ' ' | ','
  readonly scopeParameter: string
  readonly impliedScopes: Readonly<Record<string, readonly string[]>>
  readonly ignoresScopeCase: boolean
  readonly failureCodes: NonNullable<ProviderDefinition['failureCodes']>
  readonly tokenRequestFormat: 'form' | 'json'
  readonly requestHeaders: Readonly<Record<string, string>>
  readonly authorizationParameters: Readonly<Record<string, string>>
  /** Stands in the redirect URI where the authorization server is a tenant's own. */
  readonly redirectSegment?: string
}

/** The same, where each tenant has a registration of its own. */
export interface TenantProvider extends Omit<Provider, TenantsOwn | 'redirectSegment'>, Partial<Pick<Provider, TenantsOwn>>, Pick<TenantProviderDefinition, 'registration'> {}

/** What an MCP client says of itself. Anybody can say anything: it tells what a client can show, and never who it is. */
export interface ClientManifest {
  /** The revision of the protocol, where it is known. */
  readonly protocolVersion?: string
  /** As declared, in `initialize` or with the request (2026-07-28); absent where they are unknown, as with stateless serving. */
  readonly capabilities?: Readonly<Record<string, unknown>>
  readonly client: { readonly name?: string, readonly version?: string }
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
  /** Makes a principal of verified claims: those of an MCP call's access token, and of whoever signs in by `oidcLogin`. @default claims => ({ issuer: claims.iss, subject: claims.sub }) */
  readonly principal?: (claims: Claims) => Readonly<Record<'issuer' | 'subject', unknown> & { tenant?: unknown }>
  /** Who is in front of the browser: your own login, or `oidcLogin(...)` at your authorization server. */
  readonly browser: BrowserIdentity | OidcLogin
  /** The third parties, by key. */
  readonly providers: Readonly<Record<string, ProviderDefinition | TenantProviderDefinition>>
  /** A business rule, asked at the guard, at the page and at the redirection endpoint. @default () => true */
  readonly authorize?: (principal: Principal, provider: string) => Promise<boolean> | boolean
  /** What a client gets whose capabilities are unknown, as with stateless serving. @default 'fallback' */
  readonly whenCapabilityUnknown?: 'fallback' | 'elicit'
  /**
   * Whether a client is sent links, for clients that declare what they cannot do, or the other way round. Only clients of 2025-11-25 and
   * earlier can be sent links without having declared `elicitation.url`.
   * @returns `undefined` to go by what it has declared, and by `whenCapabilityUnknown`
   */
  readonly clientSupportsUrl?: (manifest: ClientManifest) => boolean | undefined
  /** Answers clients of 2026-07-28 that have not declared `elicitation.url` with `-32021`, and not with a text. @default false */
  readonly strictCapabilities?: boolean
  /** How long a call waits, on 2026-07-28, for a user who has agreed to open a link: up to 45 seconds. @default 20000 */
  readonly waitMs?: number
  /** How long a link can be used, from a minute to a day. @default 900000 (15 minutes) */
  readonly elicitationTtlMs?: number
  /** How long nobody is asked again after having declined, a day at most. @default 300000 (5 minutes) */
  readonly declineCoolDownMs?: number
  /** Rate limits, over all processes that share the store. */
  readonly limits?: Limits
  /**
   * Is told the events that `docs/audit.md` lists, for a security audit. They are in the log too. It is not waited for, and what it
   * throws goes to the log; keeping events, and for how long, is the host's.
   */
  readonly onAudit?: (event: AuditEvent) => unknown
  /** What the names of the plugin's cookies begin with, after `__Host-`. Each instance on one host needs its own, whatever its port and path. @default 'mcp-connect' */
  readonly cookieName?: string
  /** The name of the decorator, `app.mcpConnect`. Each instance in one scope needs its own. @default 'mcpConnect' */
  readonly decoratorName?: string
}
