import createError from '@fastify/error'
import type { Limits } from './types.js'

/*
 * Every error code of the package. Messages are fixed or name configuration only, so that they are safe for the model,
 * the browser and the log; ORIGIN_MISMATCH alone repeats something that was sent, for the log.
 */

const CODE = 'FST_MCP_CONNECT_'

/** The code without our prefix; empty for errors of others. */
export function shortCode (code: string): string {
  return code.startsWith(CODE) ? code.slice(CODE.length) : ''
}

// How this server is set up
export const OptionsError = createError<[string]>(`${CODE}OPTIONS`, 'mcp-connect options: %s', 500)
export const UnknownProviderError = createError<[string, string]>(`${CODE}UNKNOWN_PROVIDER`,
  'No provider "%s" is configured; configured are: %s', 500)
export const GuardOptionsError = createError<[string]>(`${CODE}GUARD_OPTIONS`, 'requireConnection: %s', 500)
export const NotMcpServerError = createError(`${CODE}NOT_MCP_SERVER`,
  'mcpConnect.for(server) takes an McpServer, or a Server, of @modelcontextprotocol/sdk or @modelcontextprotocol/server', 500)
export const SdkMissingError = createError(`${CODE}SDK_MISSING`,
  'No usable MCP SDK can be loaded; install @modelcontextprotocol/sdk 1.23 or newer, or @modelcontextprotocol/server 2.4 or newer, beside fastify-mcp-connect', 500)
export const SdkMismatchError = createError(`${CODE}SDK_MISMATCH`,
  'The given server is not of a copy of @modelcontextprotocol/sdk that fastify-mcp-connect can load; ' +
  'install the SDK once ("npm ls @modelcontextprotocol/sdk" must show one copy) and pass its McpServer', 500)
export const SdkUnreachableError = createError<[string, string]>(`${CODE}SDK_UNREACHABLE`,
  'A server is not of a copy of %s that fastify-mcp-connect can load; install it once, beside fastify-mcp-connect ("npm ls %s" must show one copy)', 500)
export const RegistrationError = createError<[string, string]>(`${CODE}REGISTRATION`,
  'The registration of a tenant at the provider "%s" cannot be used: %s', 503)
export const ApiOriginError = createError<[string, string]>(`${CODE}API_ORIGIN`,
  'connection.fetch sends the credential to %s only, not to %s; add the origin to the provider\'s apiOrigins', 500)
export const GrantEndedError = createError<[string]>(`${CODE}GRANT_ENDED`,
  'The access to %s has ended while this was under way; when it is called again, the user is asked to connect again', 500)
export const ConnectionEndedError = createError<[string]>(`${CODE}CONNECTION_ENDED`,
  'This connection to %s was ended by its own disconnect() and can be used no longer; a later call asks the user to connect again', 500)
export const RefreshFailedError = createError<[string]>(`${CODE}REFRESH_FAILED`,
  'The access to %s has expired and cannot be renewed just now; the user remains connected; try again later', 500)
export const IdentityInvalidError = createError<[string, string]>(`${CODE}IDENTITY_INVALID`,
  '%s an object with the non-empty strings issuer and subject (and tenant); %s', 500)
export const SignInUrlInvalidError = createError(`${CODE}SIGN_IN_URL_INVALID`,
  'browser.signInUrl and switchAccountUrl must return a path on this server or an absolute http(s) URL', 500)

// Who is in front of the browser
export const SignInRequiredError = createError(`${CODE}SIGN_IN_REQUIRED`, 'Nobody is signed in in this browser', 401)
export const SessionLostError = createError(`${CODE}SESSION_LOST`,
  'Nobody is signed in any more in the browser that was sent to the provider. Either the session has ended, or the session cookie of this ' +
  'application is SameSite=Strict: browsers do not send it when the provider sends them back. Make it Lax', 401)
export const SignInInvalidError = createError<[string]>(`${CODE}SIGN_IN_INVALID`, 'The answer to a sign-in was not taken: %s', 400)
export const SignInDeclinedError = createError(`${CODE}SIGN_IN_DECLINED`, 'Nobody was signed in: the authorization server answered access_denied, since the user refused, or of itself', 403)
export const SignInFailedError = createError<[string]>(`${CODE}SIGN_IN_FAILED`, 'Nobody was signed in: %s', 502)
export const SubjectMismatchError = createError<[string]>(`${CODE}SUBJECT_MISMATCH`,
  'The user in the browser and the one who asked differ in: %s. If they are the same person, principal(claims) and the login in the browser must agree, character by character', 403)
export const FlowCookieMissingError = createError(`${CODE}FLOW_COOKIE_MISSING`, 'This was started in another browser', 403)
export const CookieInvalidError = createError(`${CODE}COOKIE_INVALID`, 'The browser sent one cookie twice', 400)
export const CsrfFailedError = createError(`${CODE}CSRF_FAILED`, 'The form is not from a page of this server, or it has expired or changed', 403)
export const OriginMismatchError = createError<[string, string]>(`${CODE}ORIGIN_MISMATCH`,
  'A form came with the Origin %s, and baseUrl is %s; if the former is yours, set baseUrl to the address that people open', 403)
export const FormInvalidError = createError(`${CODE}FORM_INVALID`, 'The form is not one of this server\'s', 400)
export const NavigationRequiredError = createError(`${CODE}NAVIGATION_REQUIRED`, 'The browser loaded this in advance, or inside of another page', 403)
export const NotAuthorizedError = createError(`${CODE}NOT_AUTHORIZED`, 'This user may not connect this provider', 403)
export const NotFoundError = createError(`${CODE}NOT_FOUND`, 'There is nothing here', 404)
export const MethodNotAllowedError = createError(`${CODE}METHOD_NOT_ALLOWED`, 'This address does not take that method', 405)
export const HeldError = createError(`${CODE}HELD`, 'Another tab is finishing this', 409)
export const DisconnectedError = createError(`${CODE}DISCONNECTED`,
  'The user disconnected while this was under way, so that it was not stored; the provider may still list the grant', 409)
export const ExpiredError = createError(`${CODE}EXPIRED`, 'This has expired', 410)
export const ConsumedError = createError(`${CODE}CONSUMED`, 'This is finished already', 409)

// What a provider's authorization server answered
export const StateInvalidError = createError(`${CODE}STATE_INVALID`, 'The authorization response belongs to no flow of this server', 400)
export const ContextMismatchError = createError(`${CODE}CONTEXT_MISMATCH`, 'The authorization response belongs to another provider', 400)
export const IssuerMismatchError = createError<[string, string]>(`${CODE}ISS_MISMATCH`,
  'The authorization response for %s does not name the issuer %s', 400)
export const ResponseInvalidError = createError(`${CODE}RESPONSE_INVALID`, 'The authorization response is malformed', 400)
export const ProviderRefusedError = createError<[string, string]>(`${CODE}PROVIDER_REFUSED`, '%s refused the authorization request: %s', 502)
export const ScopeRefusedError = createError<[string]>(`${CODE}SCOPE_REFUSED`,
  '%s refused a scope that was asked for: correct the scopes of the provider or of a handler (or, if it does not give this server offline_access, set refreshTokens: false); who was granted it before must disconnect first', 502)
export const ExchangeFailedError = createError<[string, string]>(`${CODE}EXCHANGE_FAILED`, '%s did not give a usable access token: %s', 502)
export const ProviderUnavailableError = createError<[string, string]>(`${CODE}PROVIDER_UNAVAILABLE`, '%s cannot be reached: %s', 502)
export const ProviderMisconfiguredError = createError<[string, string]>(`${CODE}PROVIDER_MISCONFIGURED`, 'The metadata of %s cannot be used: %s', 502)

/** Too many of something (RFC 6585 section 4). The first one beyond the limit says so: the others need not be told again. */
export class RateLimitedError extends createError(`${CODE}RATE_LIMITED`, 'Too many requests', 429) {
  constructor (readonly limit: keyof Limits, readonly first: boolean, readonly retryAfterMs: number) {
    super()
  }
}

// What is stored
export class SealBrokenError extends createError<[string]>(`${CODE}SEAL_BROKEN`,
  'A stored value cannot be opened: it was changed or moved, or its key (id %s) is not in the keys option. Put that key back at the end of keys; or, if it is of another application, give each its own store', 500) {
  constructor (readonly keyId: string) {
    super(keyId)
  }
}
export const SchemaMissingError = createError<[string, string]>(`${CODE}SCHEMA_MISSING`,
  'The %s tables are missing, or of an older version; call %s before the application starts', 500)
export const SchemaNewerError = createError<[string, string]>(`${CODE}SCHEMA_NEWER`,
  'The %s tables are of version %s, which a newer version of this package has made; use that one', 500)
export const AdapterFailedError = createError<[string, string]>(`${CODE}ADAPTER_FAILED`, '%s of the given store or vault failed%s', 503)
export const AdapterInvalidError = createError<[string, string]>(`${CODE}ADAPTER_INVALID`, '%s of the given store or vault must return %s', 500)
export const StoreContentionError = createError(`${CODE}STORE_CONTENTION`, 'A record kept changing while it was written; try again', 503)
export const StoreTimeoutError = createError(`${CODE}STORE_TIMEOUT`, 'A store, vault or bus did not answer in time; does its server answer, and are there connections left in the pool?', 503)

// What a program ends with that is an MCP client (fastify-mcp-connect/client)
export const ClientOptionsError = createError<[string]>(`${CODE}CLIENT_OPTIONS`, 'handleUrlElicitation: %s', 500)

/** Why a URL is not shown to anybody. */
export type UrlRefusal = 'not_absolute' | 'too_long' | 'not_https' | 'userinfo' | 'private_address'

/** Why a request that needed something done in a browser did not go through. */
export const URL_ELICITATION_ENDINGS = {
  declined: 'the user declined',
  cancelled: 'the user turned away without an answer, or gave up',
  timed_out: 'nobody finished it in time',
  not_opened: 'the browser could not be opened',
  refused_url: 'the server sent a URL that must not be opened',
  malformed: 'the server asks for URL mode, and names nothing that can be opened',
  repeated: 'the server asks for the same once more after it was finished',
  budget_spent: 'the server keeps asking for more, or asks for too much at once',
  closed: 'the client was closed'
} as const

export type UrlElicitationReason = keyof typeof URL_ELICITATION_ENDINGS

/** A request that needed something to be done in a browser, which was not. Neither the URL nor any id is part of it. */
export class UrlElicitationError extends createError<[string]>(`${CODE}URL_ELICITATION`, 'This needs something done in a browser: %s', 500) {
  constructor (readonly reason: UrlElicitationReason, readonly refusal?: UrlRefusal) {
    super(URL_ELICITATION_ENDINGS[reason] + (refusal === undefined ? '' : ` (${refusal})`))
  }
}

/**
 * What a guarded handler ends with when it did not run. A tool's caller gets the message as an `isError` text, a
 * prompt's or resource's as a JSON-RPC error; the code is application-defined, outside of the range that JSON-RPC reserves.
 */
export class NotRunError extends Error {
  override readonly name = 'NotRunError'
  readonly code = -31042
}
