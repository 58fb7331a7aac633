import * as client from 'openid-client'
import type { Registration } from '../types.js'
import type { Configuration } from './configuration.js'

export interface AuthorizationRequest {
  readonly url: URL
  readonly codeVerifier: string
  /** Present when an id_token is asked for. */
  readonly nonce?: string
}

interface Asked {
  readonly redirectUri: string
  readonly scopes: readonly string[]
  readonly state: string
  readonly loginHint?: string
  readonly prompt?: string
}

/** Asks for a refresh token (OpenID Connect Core 1.0 section 11). It is between this server and the authorization server: no connection lacks it. */
const OFFLINE_ACCESS = 'offline_access'

/** Makes an authorization request with PKCE (RFC 6749 section 4.1.1, RFC 7636, RFC 8707). */
export async function createAuthorizationRequest (configuration: Configuration, registration: Registration, { redirectUri, scopes, state, loginHint, prompt }: Asked): Promise<AuthorizationRequest> {
  const { authorizationParameters: own, scopeParameter = 'scope', requestScopeSeparator = ' ' } = registration
  const codeVerifier = client.randomPKCECodeVerifier()
  const nonce = scopes.includes('openid') ? client.randomNonce() : undefined
  const offline = asksForRefreshToken(configuration, registration, scopes)
  const wanted = offline ? new Set([...scopes, OFFLINE_ACCESS]) : scopes
  // Without the question, servers with OpenID Connect do not listen to offline_access (section 11), unless a definition knows better.
  const prompts = new Set([...own['prompt']?.split(' ') ?? (offline ? ['consent'] : []), ...prompt === undefined ? [] : [prompt]])
  const url = client.buildAuthorizationUrl(configuration, {
    ...own,
    response_type: 'code',
    redirect_uri: redirectUri,
    state,
    code_challenge: await client.calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: 'S256',
    ...scopes.length > 0 && { [scopeParameter]: [...wanted].join(requestScopeSeparator) },
    ...registration.resource !== undefined && { resource: registration.resource },
    ...nonce !== undefined && { nonce },
    ...loginHint !== undefined && { login_hint: loginHint },
    ...prompts.size > 0 && { prompt: [...prompts].join(' ') }
  })
  return nonce === undefined ? { url, codeVerifier } : { url, codeVerifier, nonce }
}

/** Where the server says that it knows the scope (SEP-2207), and not beside no other scope: the server's own choice would be gone. */
function asksForRefreshToken (configuration: Configuration, { refreshTokens }: Registration, scopes: readonly string[]): boolean {
  const { scopes_supported: supported } = configuration.serverMetadata()
  return refreshTokens === true && scopes.length > 0 && Array.isArray(supported) && supported.includes(OFFLINE_ACCESS)
}
