import * as client from 'openid-client'
import { ExchangeFailedError } from '../errors.js'
import { scopeSchema } from '../schemas.js'
import type { Grant, Provider } from '../types.js'
import type { Configuration } from './configuration.js'
import { describeProvider, failureReason, isRefusal } from './failure.js'

const MAX_OTHER_SCOPES = 100
const MAX_SCOPE_LENGTH = 256
const MAX_LIFETIME_S = 10 * 365 * 24 * 60 * 60

export interface CodeExchange {
  /** The redirection endpoint with the query of the authorization response. */
  readonly response: URL
  readonly state: string
  readonly codeVerifier: string
  readonly nonce?: string
  /** Scopes that were asked for. */
  readonly scopes: readonly string[]
}

/** Whether an exchange has failed because the server said that it gives nothing. */
export function wasRefused (error: unknown): boolean {
  return (error as { refused?: unknown } | null)?.refused === true
}

/**
 * Redeems the authorization code (RFC 6749 section 4.1.3).
 * @throws FST_MCP_CONNECT_EXCHANGE_FAILED whatever went wrong; the library's own errors hold codes and tokens, and stay here
 */
export async function exchangeCode (configuration: Configuration, provider: Provider, exchange: CodeExchange): Promise<Grant> {
  try {
    const tokens = await client.authorizationCodeGrant(configuration, exchange.response, {
      pkceCodeVerifier: exchange.codeVerifier,
      expectedState: exchange.state,
      ...exchange.nonce !== undefined && { expectedNonce: exchange.nonce, idTokenExpected: true }
    }, provider.resource === undefined ? {} : { resource: provider.resource })
    const readable = [tokens.access_token, tokens.refresh_token].every(token => token === undefined || isToken(token))
    if (!readable) throw new ExchangeFailedError(describeProvider(provider), 'a token holds characters that no token may hold')
    if (tokens.token_type !== 'bearer') throw new ExchangeFailedError(describeProvider(provider), 'the token type is not Bearer')
    return {
      accessToken: tokens.access_token,
      requestedScopes: exchange.scopes,
      scopes: tokens.scope === undefined ? exchange.scopes : readScopes(tokens.scope.split(provider.scopeSeparator), exchange.scopes),
      ...tokens.refresh_token !== undefined && { refreshToken: tokens.refresh_token },
      ...expiry(tokens.expires_in)
    }
  } catch (error) {
    if (error instanceof ExchangeFailedError) throw error
    throw Object.assign(new ExchangeFailedError(describeProvider(provider), failureReason(error)), { refused: isRefusal(error) })
  }
}

/** Less than a second says nothing: it would ask the user again at once, for ever. */
function expiry (expiresIn = 0): Pick<Grant, 'expiresAt'> {
  return expiresIn < 1 ? {} : { expiresAt: Date.now() + Math.min(expiresIn, MAX_LIFETIME_S) * 1000 }
}

/**
 * VSCHAR (RFC 6749 appendix A.12) without the space, which no bearer header can carry (RFC 6750 section 2.1). Anything
 * else would end up in the error message of whoever makes a header of it.
 */
function isToken (token: string): boolean {
  return /^[\x21-\x7E]+$/.test(token)
}

/** Those that were asked for, and of what else the provider says as much as makes sense. */
function readScopes (granted: readonly string[], asked: readonly string[]): readonly string[] {
  const others = granted.filter(scope => !asked.includes(scope) && scope.length <= MAX_SCOPE_LENGTH && scopeSchema.safeParse(scope).success)
  return [...new Set([...granted.filter(scope => asked.includes(scope)), ...others.slice(0, MAX_OTHER_SCOPES)])]
}
