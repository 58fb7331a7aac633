import * as client from 'openid-client'
import type { Grant, Provider } from '../types.js'
import { forRevocation, type Configuration } from './configuration.js'
import { inDialect, parseJson, valueAt } from './dialect.js'
import { codesIn, retryAfter } from './error-answer.js'
import { failureReason } from './failure.js'
import { createOutboundFetch } from './outbound.js'

/**
 * What a provider has answered to a revocation. `unsupported`: it has no way to be told. `later`: it cannot be told now. `refused`: it
 * does not take it, or was not asked, since its address is none that may be asked. The reasons are of fixed words.
 */
export type RevocationAnswer =
  | { readonly kind: 'revoked' | 'unsupported' }
  | { readonly kind: 'refused', readonly reason: string }
  | { readonly kind: 'later', readonly reason: string, readonly retryAfterMs?: number }

export type RevocableGrant = Pick<Grant, 'accessToken' | 'refreshToken'>

type TokenKind = 'refresh_token' | 'access_token'

const UNSUPPORTED_TOKEN = 'unsupported_token_type'
/** A token that the server does not know is gone. By RFC 7009 section 2.2 the answer is 200 then; these are what some say instead. */
const GONE = ['invalid_token', 'invalid_grant']

/** Takes a grant back at its provider: in the provider's own way, or by RFC 7009. Never fails. */
export async function revokeGrant (configuration: Configuration, provider: Provider, grant: RevocableGrant): Promise<RevocationAnswer> {
  if (provider.revocationRequest !== undefined) return await revokeInOwnWay(provider, provider.revocationRequest, grant)
  const endpoint = provider.endpoints?.revocation ?? configuration.serverMetadata().revocation_endpoint
  return typeof endpoint === 'string' ? await revokeTokens(configuration, provider, endpoint, grant) : { kind: 'unsupported' }
}

/** The refresh token first: with it, most servers end the whole grant (RFC 7009 section 2.1). */
async function revokeTokens (configuration: Configuration, provider: Provider, endpoint: string, { refreshToken, accessToken }: RevocableGrant): Promise<RevocationAnswer> {
  if (refreshToken === undefined) return await revokeToken(configuration, provider, endpoint, accessToken, 'access_token')
  const first = await revokeToken(configuration, provider, endpoint, refreshToken, 'refresh_token')
  if (first.kind !== 'revoked') return first
  const second = await revokeToken(configuration, provider, endpoint, accessToken, 'access_token')
  // Servers need not take access tokens (section 2): this one ends by itself, and no other comes after it.
  return second.kind === 'refused' && second.reason === UNSUPPORTED_TOKEN ? first : second
}

async function revokeToken (configuration: Configuration, provider: Provider, endpoint: string, token: string, kind: TokenKind): Promise<RevocationAnswer> {
  let response: Response | undefined
  try {
    await client.tokenRevocation(forRevocation(configuration, provider, endpoint, answer => { response = answer }), token, { token_type_hint: kind })
    return { kind: 'revoked' }
  } catch (error) {
    return response === undefined ? notAnswered(error) : await classify(provider, response, failureReason(error))
  }
}

async function classify ({ failureCodes }: Provider, response: Response, reason: string): Promise<RevocationAnswer> {
  const { status } = response
  if (response.ok) return { kind: 'revoked' }
  if (isForLater(status)) return { kind: 'later', reason: `status ${status}`, ...retryAfter(response) }
  const codes = status === 400 ? await codesIn(response) : []
  if (codes.some(code => GONE.includes(code) || failureCodes.dead?.includes(code) === true)) return { kind: 'revoked' }
  if (codes.includes(UNSUPPORTED_TOKEN)) return { kind: 'refused', reason: UNSUPPORTED_TOKEN }
  return { kind: 'refused', reason: /^[a-z_]+$/.test(reason) ? reason : `status ${status}` }
}

async function revokeInOwnWay (provider: Provider, makeRequest: NonNullable<Provider['revocationRequest']>, { accessToken, refreshToken }: RevocableGrant): Promise<RevocationAnswer> {
  const { clientId, clientSecret } = provider
  let request: { readonly url: string, readonly init: RequestInit }
  try {
    const { url, method, headers, body } = await makeRequest({ accessToken, ...refreshToken !== undefined && { refreshToken } },
      { clientId, ...clientSecret !== undefined && { clientSecret } })
    request = { url: new URL(url).href, init: { method, headers: new Headers(headers), ...body !== undefined && { body } } }
  } catch {
    return { kind: 'refused', reason: 'revocationRequest made no request' }     // what it threw may hold tokens
  }
  try {
    const response = await inDialect(provider, () => false, createOutboundFetch(provider))(request.url, request.init)
    const { ok, status } = response
    if (ok) return await isRefusedInBody(response) ? { kind: 'refused', reason: 'an error with status 200' } : { kind: 'revoked' }
    if (status === 400 || status === 404) return { kind: 'revoked' }
    const reason = `status ${status}`
    return isForLater(status) ? { kind: 'later', reason, ...retryAfter(response) } : { kind: 'refused', reason }
  } catch (error) {
    return notAnswered(error)
  }
}

/** Some servers answer an error with status 200. */
async function isRefusedInBody (response: Response): Promise<boolean> {
  return typeof valueAt(parseJson(await response.text()), 'error') === 'string'
}

/** Whether a status says nothing of the request: the server was not able to look at it. */
function isForLater (status: number): boolean {
  return status === 408 || status === 429 || status >= 500
}

function notAnswered (error: unknown): RevocationAnswer {
  const reason = failureReason(error)
  return { kind: /^(not_|answer_too_large)/.test(reason) ? 'refused' : 'later', reason }
}
