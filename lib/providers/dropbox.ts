import type { Provider } from '../types.js'
import { defineProvider } from './define-provider.js'
import { readRegistration, type PresetRegistration } from './preset.js'

/**
 * Dropbox, with an app of yours: dropbox.com/developers/apps. Its redirect URI is `<baseUrl>/connect/callback/<key of the provider>`.
 *
 * Access tokens live for four hours. A refresh token comes only with `token_access_type=offline`, and is not replaced by a refresh. The account is told
 * only with the scope `account_info.read`.
 *
 * Sources: dropbox.tech "Using OAuth 2.0 with offline access" and dropbox.com "OAuth Guide" (endpoints, offline access, PKCE with S256), the HTTP documentation
 * of `users/get_current_account` and `auth/token/revoke`; `invalid_grant` for a refresh token that was taken back: nextcloud/integration_dropbox#34.
 * Whether the revocation of an access token takes the refresh token back too was not checked.
 */
export function dropbox (registration: PresetRegistration): Provider {
  const { clientId, clientSecret, scopes = [] } = readRegistration('dropbox', registration)
  return defineProvider({
    name: 'Dropbox',
    issuer: 'https://www.dropbox.com',
    endpoints: { authorization: 'https://www.dropbox.com/oauth2/authorize', token: 'https://api.dropboxapi.com/oauth2/token' },
    clientId,
    clientSecret,
    clientAuthentication: 'client_secret_basic',
    scopes,
    authorizationParameters: { token_access_type: 'offline' },
    identity: { url: 'https://api.dropboxapi.com/2/users/get_current_account', method: 'POST', body: 'null', subject: 'account_id', labels: ['email'] },
    revocationRequest: ({ accessToken }) => ({
      url: 'https://api.dropboxapi.com/2/auth/token/revoke',
      method: 'POST',
      headers: { authorization: `Bearer ${accessToken}` }
    }),
    apiOrigins: ['https://api.dropboxapi.com', 'https://content.dropboxapi.com']
  })
}
