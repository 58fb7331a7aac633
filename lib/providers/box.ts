import type { Provider } from '../types.js'
import { defineProvider } from './define-provider.js'
import { readRegistration, type PresetRegistration } from './preset.js'

/**
 * Box, with a custom app of yours with user authentication (OAuth 2.0): app.box.com/developers/console, Configuration. Its redirect URI is
 * `<baseUrl>/connect/callback/<key of the provider>`. Without scopes it asks for all that the app has.
 *
 * Access tokens live for an hour. Each refresh token is used once, within 60 days.
 *
 * Sources: developer.box.com "Authorize user" (endpoint, scopes with spaces), "Refresh a Token" (secret in the body, 60 days, once), "Revoke a Token", "Access Tokens" (lifetime), "Get
 * current user"; `invalid_grant`: support.box.com "Need help with refresh token expiry information". Whether Box checks the PKCE challenge was not checked.
 */
export function box (registration: PresetRegistration): Provider {
  const { clientId, clientSecret, scopes = [] } = readRegistration('box', registration)
  return defineProvider({
    name: 'Box',
    issuer: 'https://account.box.com',
    endpoints: {
      authorization: 'https://account.box.com/api/oauth2/authorize',
      token: 'https://api.box.com/oauth2/token',
      revocation: 'https://api.box.com/oauth2/revoke'
    },
    clientId,
    clientSecret,
    clientAuthentication: 'client_secret_post',
    scopes,
    identity: { url: 'https://api.box.com/2.0/users/me', subject: 'id', labels: ['login'] },
    apiOrigins: ['https://api.box.com', 'https://upload.box.com']
  })
}
