import * as client from 'openid-client'
import type { Provider } from '../types.js'
import { forRefresh, type Configuration } from './configuration.js'
import { codesIn, retryAfter } from './error-answer.js'
import { failureReason } from './failure.js'
import { isToken, type Tokens } from './token-request.js'

/**
 * What came of a refresh. `dead`: the grant is gone for good. `misregistered`: this server's registration is not accepted, which only
 * its operator can mend. `later`: anything else, which says nothing of the grant. The reasons are of fixed words.
 */
export type RefreshAnswer =
  | { readonly kind: 'tokens', readonly tokens: Tokens }
  | { readonly kind: 'dead' }
  | { readonly kind: 'misregistered' | 'later', readonly reason: string, readonly retryAfterMs?: number }

/** RFC 6749 section 5.2, and what some servers say instead. */
const DEAD = ['invalid_grant']
const MISREGISTERED = ['invalid_client', 'unauthorized_client', 'unsupported_grant_type', 'incorrect_client_credentials']

/** Refreshes an access token (RFC 6749 section 6). Never fails: each failure is of one of three classes. */
export async function refreshTokens (configuration: Configuration, provider: Provider, refreshToken: string): Promise<RefreshAnswer> {
  let response: Response | undefined
  const refreshing = forRefresh(configuration, provider, answer => { response = answer })
  try {
    const tokens = await client.refreshTokenGrant(refreshing, refreshToken, provider.resource === undefined ? {} : { resource: provider.resource })
    const usable = [tokens.access_token, tokens.refresh_token].every(token => token === undefined || isToken(token))
    if (!usable || tokens.token_type !== 'bearer') return { kind: 'later', reason: 'the answer holds no usable access token' }
    return { kind: 'tokens', tokens }
  } catch (error) {
    return await classify(provider, failureReason(error), response)
  }
}

async function classify ({ failureCodes }: Provider, reason: string, response: Response | undefined): Promise<RefreshAnswer> {
  const status = response?.status ?? 0
  if (status !== 429 && status < 500) {
    const codes = response === undefined ? [] : [reason, ...await codesIn(response)]
    const has = (known: readonly string[] = []): boolean => codes.some(code => known.includes(code))
    if (has(DEAD) || has(failureCodes.dead)) return { kind: 'dead' }
    if (has(MISREGISTERED) || has(failureCodes.misregistered)) return { kind: 'misregistered', reason }
  }
  return { kind: 'later', reason: status === 429 || status >= 500 ? `status ${status}` : reason, ...retryAfter(response) }
}
