import * as client from 'openid-client'
import { ExchangeFailedError } from '../errors.js'
import type { Registration } from '../types.js'
import type { Configuration } from './configuration.js'
import { describeProvider, failureReason, isRefusal, wasUnsent } from './failure.js'

export interface CodeExchange {
  /** The redirection endpoint with the query of the authorization response. */
  readonly response: URL
  readonly state: string
  readonly codeVerifier: string
  /** Present when an id_token was asked for, and must come. */
  readonly nonce?: string
}

/** An access token response (RFC 6749 section 5.1), with the claims of the id_token if there is one. */
export type Tokens = client.TokenEndpointResponse & client.TokenEndpointResponseHelpers

/** Whether an exchange has failed because the server said that it gives nothing, or was not asked. */
export function wasRefused (error: unknown): boolean {
  return (error as { refused?: unknown } | null)?.refused === true
}

/** Whether it has failed because the server does not know the code: whoever sent it may have made it up. */
export function wasBadCode (error: unknown): boolean {
  return (error as { badCode?: unknown } | null)?.badCode === true
}

/**
 * Redeems the authorization code (RFC 6749 section 4.1.3), and validates the id_token (OpenID Connect Core 1.0 section 3.1.3.7).
 * @throws FST_MCP_CONNECT_EXCHANGE_FAILED whatever went wrong; the library's own errors hold codes and tokens, and stay here
 */
export async function redeemCode (configuration: Configuration, registration: Registration, exchange: CodeExchange): Promise<Tokens> {
  let tokens: Tokens
  try {
    tokens = await client.authorizationCodeGrant(configuration, exchange.response, {
      pkceCodeVerifier: exchange.codeVerifier,
      expectedState: exchange.state,
      ...exchange.nonce !== undefined && { expectedNonce: exchange.nonce, idTokenExpected: true }
    }, registration.resource === undefined ? {} : { resource: registration.resource })
  } catch (error) {
    const reason = failureReason(error)
    throw Object.assign(new ExchangeFailedError(describeProvider(registration), reason), { refused: isRefusal(error) || wasUnsent(error, configuration.serverMetadata().token_endpoint), badCode: reason === 'invalid_grant' })
  }
  const readable = [tokens.access_token, tokens.refresh_token].every(token => token === undefined || isToken(token))
  if (!readable) throw new ExchangeFailedError(describeProvider(registration), 'a token holds characters that no token may hold')
  if (tokens.token_type !== 'bearer') throw new ExchangeFailedError(describeProvider(registration), 'the token type is not Bearer')
  return tokens
}

/**
 * VSCHAR (RFC 6749 appendix A.12) without the space, which no bearer header can carry (RFC 6750 section 2.1). Anything
 * else would end up in the error message of whoever makes a header of it.
 */
export function isToken (token: string): boolean {
  return /^[\x21-\x7E]+$/.test(token)
}
