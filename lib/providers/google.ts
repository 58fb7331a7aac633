import type { Provider } from '../types.js'
import { defineProvider } from './define-provider.js'
import { readRegistration, scopesWith, type PresetRegistration } from './preset.js'

/**
 * Google, with an OAuth client of yours of type "Web application": console.cloud.google.com, Google Auth Platform, Clients. Its authorized
 * redirect URI is `<baseUrl>/connect/callback/<key of the provider>`.
 *
 * `openid` and `email` are always asked for: they say which account it is. Everything else is found from Google's metadata. A refresh token comes
 * only with `access_type=offline`, and again only with `prompt=consent`; it is not replaced by a refresh. What was granted before
 * comes back too (`include_granted_scopes`). The origins are those of Drive and Calendar, Gmail, Docs, Sheets and People: others can be added to what this returns.
 *
 * Sources: developers.google.com "Using OAuth 2.0 for Web Server Applications" (parameters, refresh, errors), "OpenID Connect" (discovery, `sub`);
 * accounts.google.com/.well-known/openid-configuration (S256, Basic and post, revocation); `email` and `profile` come back under the
 * names of `userinfo`: googleapis/google-api-python-client#1088.
 */
export function google (registration: PresetRegistration): Provider {
  const { clientId, clientSecret, scopes } = readRegistration('google', registration)
  return defineProvider({
    name: 'Google',
    issuer: 'https://accounts.google.com',
    clientId,
    clientSecret,
    clientAuthentication: 'client_secret_post',
    scopes: scopesWith(['openid', 'email'], scopes),
    impliedScopes: {
      'https://www.googleapis.com/auth/userinfo.email': ['email'],
      'https://www.googleapis.com/auth/userinfo.profile': ['profile']
    },
    authorizationParameters: { access_type: 'offline', prompt: 'consent', include_granted_scopes: 'true' },
    apiOrigins: ['https://www.googleapis.com', 'https://gmail.googleapis.com', 'https://docs.googleapis.com', 'https://sheets.googleapis.com', 'https://people.googleapis.com']
  })
}
