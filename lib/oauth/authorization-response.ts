import { z } from 'zod'
import { IssuerMismatchError, ResponseInvalidError, StateInvalidError } from '../errors.js'
import { RANDOM_TOKEN } from '../random.js'
import type { Registration } from '../types.js'
import type { Configuration } from './configuration.js'
import { describeProvider, knownCode } from './failure.js'

/** What an authorization server's redirect says (RFC 6749 section 4.1.2), once its issuer is established. */
export type AuthorizationResponse =
  | { readonly kind: 'code' }
  | { readonly kind: 'denied' }
  /** Any other error; `reason` is a known code. The texts are the provider's, and go nowhere. */
  | { readonly kind: 'error', readonly reason: string }

// A repeated parameter is a list here, and no string (RFC 6749 section 3.1).
const stateSchema = z.object({ state: z.string().regex(RANDOM_TOKEN) })
const schema = z.object({
  iss: z.string().max(2048).optional(),
  error: z.string().max(256).optional(),
  code: z.string().min(1).max(8192).optional()
})

/** @throws FST_MCP_CONNECT_STATE_INVALID when there is no single, well-formed `state` */
export function readState (query: unknown): string {
  const result = stateSchema.safeParse(query)
  if (!result.success) throw new StateInvalidError()
  return result.data.state
}

/**
 * Reads the rest of the response. Nothing in it is believed before its issuer is the expected one (RFC 9207 section 2.4).
 * @throws FST_MCP_CONNECT_ISS_MISMATCH, FST_MCP_CONNECT_RESPONSE_INVALID
 */
export function readAuthorizationResponse (configuration: Configuration, registration: Registration, query: unknown): AuthorizationResponse {
  const result = schema.safeParse(query)
  if (!result.success) throw new ResponseInvalidError()
  const { iss, error, code } = result.data
  const { issuer, authorization_response_iss_parameter_supported: issRequired } = configuration.serverMetadata()
  if (iss === undefined ? issRequired === true : iss !== issuer) throw new IssuerMismatchError(describeProvider(registration), issuer)
  if (error === 'access_denied') return { kind: 'denied' }
  if (error !== undefined) return { kind: 'error', reason: knownCode(error) }
  if (code === undefined) throw new ResponseInvalidError()
  return { kind: 'code' }
}
