import * as client from 'openid-client'
import type { Registration } from '../types.js'
import type { Configuration } from './configuration.js'

export interface AuthorizationRequest {
  readonly url: URL
  readonly codeVerifier: string
  /** Present when an id_token is asked for. */
  readonly nonce?: string
}

/** Makes an authorization request with PKCE (RFC 6749 section 4.1.1, RFC 7636, RFC 8707). */
export async function createAuthorizationRequest (configuration: Configuration, registration: Registration,
  { redirectUri, scopes, state, prompt }: { redirectUri: string, scopes: readonly string[], state: string, prompt?: string }): Promise<AuthorizationRequest> {
  const codeVerifier = client.randomPKCECodeVerifier()
  const nonce = scopes.includes('openid') ? client.randomNonce() : undefined
  const url = client.buildAuthorizationUrl(configuration, {
    ...registration.authorizationParameters,
    response_type: 'code',
    redirect_uri: redirectUri,
    state,
    code_challenge: await client.calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: 'S256',
    ...scopes.length > 0 && { scope: scopes.join(' ') },
    ...registration.resource !== undefined && { resource: registration.resource },
    ...nonce !== undefined && { nonce },
    ...prompt !== undefined && { prompt }
  })
  return nonce === undefined ? { url, codeVerifier } : { url, codeVerifier, nonce }
}
