import createError from '@fastify/error'

const CODE = 'FST_MCP_CONNECT_'

/** The part of an error's code that tells ours apart; empty for errors that are not of this package. */
export function shortCode (error: { readonly code?: unknown }): string {
  return typeof error.code === 'string' && error.code.startsWith(CODE) ? error.code.slice(CODE.length) : ''
}

/*
 * Every error code of the package. Messages are fixed or name configuration alone, so that they are safe for the
 * model, the browser and the log.
 */

// Who configured this server
export const OptionsError = createError<[string]>(`${CODE}OPTIONS`, 'mcp-connect options: %s', 500)
export const UnknownProviderError = createError<[string, string]>(`${CODE}UNKNOWN_PROVIDER`,
  'No provider "%s" is configured; configured are: %s', 500)
export const GuardOptionsError = createError<[string]>(`${CODE}GUARD_OPTIONS`, 'requireConnection: %s', 500)
export const SdkMismatchError = createError(`${CODE}SDK_MISMATCH`,
  'The given server was made by a copy of @modelcontextprotocol/sdk that fastify-mcp-connect cannot load. ' +
  'Install the SDK once ("npm ls @modelcontextprotocol/sdk" must show one copy, version 1.23 or newer) and pass its McpServer', 500)
export const ApiOriginError = createError<[string, string]>(`${CODE}API_ORIGIN`,
  'connection.fetch sends the credential to %s only, not to %s; add the origin to the provider\'s apiOrigins', 500)
export const IdentityInvalidError = createError(`${CODE}IDENTITY_INVALID`,
  'browser.identify must return null, or an object with the non-empty strings issuer and subject (and tenant)', 500)

// Who is in front of the browser
export const SignInRequiredError = createError(`${CODE}SIGN_IN_REQUIRED`, 'Nobody is signed in in this browser', 401)
export const SubjectMismatchError = createError(`${CODE}SUBJECT_MISMATCH`, 'Another user has asked for this', 403)
export const FlowCookieMissingError = createError(`${CODE}FLOW_COOKIE_MISSING`, 'This was started in another browser', 403)
export const CookieInvalidError = createError(`${CODE}COOKIE_INVALID`, 'The browser sent one cookie twice', 400)
export const CsrfFailedError = createError(`${CODE}CSRF_FAILED`, 'The form did not come from a page of this server, or it is too old', 403)
export const FormInvalidError = createError(`${CODE}FORM_INVALID`, 'The form is not one of this server\'s', 400)
export const NotAuthorizedError = createError(`${CODE}NOT_AUTHORIZED`, 'This user may not connect this provider', 403)
export const NotFoundError = createError(`${CODE}NOT_FOUND`, 'There is nothing here', 404)
export const MethodNotAllowedError = createError(`${CODE}METHOD_NOT_ALLOWED`, 'This address does not take that method', 405)
export const ExpiredError = createError(`${CODE}EXPIRED`, 'The time for this is over', 410)
export const ConsumedError = createError(`${CODE}CONSUMED`, 'This is finished already', 409)

// What a provider's authorization server answered
export const StateInvalidError = createError(`${CODE}STATE_INVALID`, 'The authorization response belongs to no flow of this server', 400)
export const ContextMismatchError = createError(`${CODE}CONTEXT_MISMATCH`, 'The authorization response belongs to another provider', 400)
export const IssuerMismatchError = createError(`${CODE}ISS_MISMATCH`, 'The authorization response came from another issuer', 400)
export const ResponseInvalidError = createError(`${CODE}RESPONSE_INVALID`, 'The authorization response is malformed', 400)
export const ProviderRefusedError = createError<[string]>(`${CODE}PROVIDER_REFUSED`, 'The provider refused: %s', 502)
export const ExchangeFailedError = createError<[string]>(`${CODE}EXCHANGE_FAILED`, 'The provider did not give a usable access token: %s', 502)
export const ProviderUnavailableError = createError<[string]>(`${CODE}PROVIDER_UNAVAILABLE`, 'The provider cannot be reached, or its metadata is not usable: %s', 502)

// What is stored
export const SealBrokenError = createError(`${CODE}SEAL_BROKEN`, 'A stored value could not be opened with the configured keys', 500)
export const StoreContentionError = createError(`${CODE}STORE_CONTENTION`, 'A record kept changing while it was written; try again', 503)

/**
 * What a guarded handler ends with when it did not run. A tool's caller gets the message as an `isError` text, a
 * prompt's or resource's as a JSON-RPC error; the code is application-defined, outside of the range that JSON-RPC reserves.
 */
export class NotRunError extends Error {
  override readonly name = 'NotRunError'
  readonly code = -31042
}
