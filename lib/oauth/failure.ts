import * as client from 'openid-client'
import { OutboundError } from './outbound.js'

/** Error codes of RFC 6749 sections 4.1.2.1 and 5.2; whatever else a server answers is its own text. */
const REGISTERED = ['invalid_request', 'invalid_client', 'invalid_grant', 'unauthorized_client', 'unsupported_grant_type',
  'unsupported_response_type', 'invalid_scope', 'invalid_target', 'access_denied', 'server_error', 'temporarily_unavailable']

/** The code if it is one that the specifications register. Safe to log, which a server's own text is not. */
export function registeredCode (code: string): string {
  return REGISTERED.includes(code) ? code : 'unregistered_error'
}

/**
 * Why a request to an authorization server failed, in a word for the operator's log. The library's errors hold codes,
 * tokens and bodies, so nothing else of them is kept.
 */
export function failureReason (error: unknown): string {
  if (error instanceof client.ResponseBodyError) return registeredCode(error.error)
  if (error instanceof client.ClientError) return error.code ?? failureReason(error.cause)
  if (error instanceof OutboundError) return error.reason
  if (error instanceof Error && error.name === 'TimeoutError') return 'timeout'
  return 'network_error'
}
