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
  { redirectUri, scopes, state, loginHint, prompt }: { redirectUri: string, scopes: readonly string[], state: string, loginHint?: string, prompt?: string }): Promise<AuthorizationRequest> {
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
    ...loginHint !== undefined && { login_hint: loginHint },
    ...prompt !== undefined && { prompt: withPrompt(registration.authorizationParameters['prompt'], prompt) }
  })
  return nonce === undefined ? { url, codeVerifier } : { url, codeVerifier, nonce }
}

/** Beside what the provider is asked to show anyway (OpenID Connect Core 1.0 section 3.1.2.1: a list). */
function withPrompt (own: string | undefined, prompt: string): string {
  return [...new Set([...own?.split(' ') ?? [], prompt])].join(' ')
}
