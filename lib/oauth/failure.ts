import * as client from 'openid-client'
import type { Registration } from '../types.js'
import { OutboundError } from './outbound.js'

/**
 * Error codes of RFC 6749 sections 4.1.2.1 and 5.2 and RFC 8707, and GitHub's own ("Troubleshooting OAuth app access
 * token request errors"); whatever else a server answers is its own text.
 */
const KNOWN = ['invalid_request', 'invalid_client', 'invalid_grant', 'unauthorized_client', 'unsupported_grant_type',
  'unsupported_response_type', 'invalid_scope', 'invalid_target', 'access_denied', 'server_error', 'temporarily_unavailable',
  'incorrect_client_credentials', 'redirect_uri_mismatch', 'bad_verification_code', 'unverified_user_email']

/** The code if it is a known one. Safe to log, which a server's own text is not. */
export function knownCode (code: string): string {
  return KNOWN.includes(code) ? code : 'an error of its own'
}

/** Names a provider in messages for the operator. */
export function describeProvider ({ name, issuer }: Registration): string {
  return `${name} (${issuer})`
}

/**
 * Why a request to an authorization server failed, in a word for the operator's log. The library's errors hold codes,
 * tokens and bodies, so nothing else of them is kept.
 */
export function failureReason (error: unknown): string {
  if (error instanceof client.ResponseBodyError) return knownCode(error.error)
  if (error instanceof client.ClientError && error.code === 'OAUTH_TIMEOUT') return 'timeout'
  if (error instanceof client.ClientError) return errorInBody(error) ?? error.code ?? failureReason(error.cause)
  // A challenge comes with status 401, which says that the client could not authenticate (RFC 6749 section 5.2).
  if (error instanceof client.WWWAuthenticateChallengeError) return 'invalid_client'
  if (error instanceof OutboundError) return error.reason === 'not_public' ? describeNotPublic(error.target) : error.reason
  const { code } = Object((error as Error | undefined)?.cause) as { code?: unknown }
  return typeof code === 'string' && /^[A-Z_]+$/.test(code) ? `network_error (${code})` : 'network_error'
}

function describeNotPublic ({ hostname }: URL): string {
  return `not_public (the address of ${hostname} is not a public one; if it is inside your network, put '${hostname}' into privateHosts, which lets private addresses through, and no link-local or reserved ones)`
}

/** Whether a request to an address was not sent at all. */
export function wasUnsent (error: unknown, address: string | undefined): boolean {
  if (error instanceof client.ClientError) return wasUnsent(error.cause, address)
  return error instanceof OutboundError && error.reason !== 'answer_too_large' && address !== undefined && error.target.href === new URL(address).href
}

/** Whether the server has answered with an error. */
export function isRefusal (error: unknown): boolean {
  return error instanceof client.ResponseBodyError || error instanceof client.WWWAuthenticateChallengeError ||
    (error instanceof client.ClientError && errorInBody(error) !== null)
}

/** Some servers, such as GitHub's, answer an error with status 200. */
function errorInBody ({ cause }: Error): string | null {
  const body: unknown = (cause as { cause?: { body?: unknown } } | undefined)?.cause?.body
  const code = typeof body === 'object' && body !== null && 'error' in body ? body.error : undefined
  return typeof code === 'string' ? knownCode(code) : null
}
