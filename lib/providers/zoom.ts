import type { Provider } from '../types.js'
import { defineProvider } from './define-provider.js'
import { readRegistration, type PresetRegistration } from './preset.js'

/**
 * Zoom, with a General app of yours, user-managed: marketplace.zoom.us, Develop, Build App. Its OAuth redirect URL is
 * `<baseUrl>/connect/callback/<key of the provider>`, and stands in the allow list there too.
 *
 * Access tokens live for an hour. Each refresh token is used once: an earlier one is answered "Invalid Token!". The account is told only with
 * the scope `user:read:user`.
 *
 * Sources: developers.zoom.us "OAuth 2.0" (endpoints, Basic, PKCE with S256, revocation), "OAuth error messages"; devsupport.zoom.us "Extending the expiration for an
 * OAuth access token" (lifetimes, rotation). Whether the revocation of an access token takes the refresh token back too was not checked.
 */
export function zoom (registration: PresetRegistration): Provider {
  const { clientId, clientSecret, scopes = [] } = readRegistration('zoom', registration)
  return defineProvider({
    name: 'Zoom',
    issuer: 'https://zoom.us',
    endpoints: {
      authorization: 'https://zoom.us/oauth/authorize',
      token: 'https://zoom.us/oauth/token',
      revocation: 'https://zoom.us/oauth/revoke'
    },
    clientId,
    clientSecret,
    clientAuthentication: 'client_secret_basic',
    scopes,
    identity: { url: 'https://api.zoom.us/v2/users/me', subject: 'id', labels: ['email'] },
    apiOrigins: ['https://api.zoom.us']
  })
}
