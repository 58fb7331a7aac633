import type { Provider } from '../types.js'
import { defineProvider } from './define-provider.js'
import { readRegistration, type PresetRegistration } from './preset.js'

/**
 * Spotify, with an app of yours: developer.spotify.com/dashboard. Its redirect URI is `<baseUrl>/connect/callback/<key of the provider>`.
 *
 * Access tokens live for an hour, refresh tokens for six months from the authorization, however often they are used: then the user is asked again. A refresh may
 * give no new refresh token. There is no revocation endpoint in the documentation.
 *
 * Sources: developer.spotify.com "Authorization Code Flow", "Authorization Code with PKCE Flow" (endpoints, S256), "Refreshing tokens" (Basic, lifetime),
 * "Introducing refresh token expiration" (six months, invalid_grant), "Get Current User's Profile". Whether Spotify checks the PKCE challenge of a
 * client with a secret was not checked; refresh tokens of PKCE clients are used once: rspotify, AuthCodePkceSpotify.
 */
export function spotify (registration: PresetRegistration): Provider {
  const { clientId, clientSecret, scopes = [] } = readRegistration('spotify', registration)
  return defineProvider({
    name: 'Spotify',
    issuer: 'https://accounts.spotify.com',
    endpoints: { authorization: 'https://accounts.spotify.com/authorize', token: 'https://accounts.spotify.com/api/token' },
    clientId,
    clientSecret,
    clientAuthentication: 'client_secret_basic',
    scopes,
    identity: { url: 'https://api.spotify.com/v1/me', subject: 'id', labels: ['display_name'] },
    apiOrigins: ['https://api.spotify.com']
  })
}
