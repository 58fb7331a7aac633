import type { Provider } from '../types.js'
import { defineProvider } from './define-provider.js'
import { readRegistration, scopesWith, type PresetRegistration } from './preset.js'

/**
 * Atlassian (Jira, Confluence), with an OAuth 2.0 integration of yours: developer.atlassian.com/console/myapps, Authorization, OAuth 2.0 (3LO). Its
 * callback URL is `<baseUrl>/connect/callback/<key of the provider>`.
 *
 * `offline_access` is always asked for: without it there is no refresh token. Each refresh token is used once. The account is told only with the scope
 * `read:me`, which needs the User Identity API in the app. Calls go to `https://api.atlassian.com/ex/<product>/<cloud id>/`; the cloud ids of a
 * user are at `https://api.atlassian.com/oauth/token/accessible-resources`. There is no revocation endpoint in the documentation.
 *
 * Sources: developer.atlassian.com "OAuth 2.0 (3LO) apps" (endpoints, audience, prompt), "Implementing the Refresh Token Flow" (JSON, secret in the body, rotation, invalid_grant
 * with status 403); `access_denied` for a wrong secret, and refresh tokens that end after 90 days: jira.js, isReauthorizationRequired; `read:me`: next-auth, providers/atlassian.
 * Whether Atlassian checks the PKCE challenge was not checked.
 */
export function atlassian (registration: PresetRegistration): Provider {
  const { clientId, clientSecret, scopes } = readRegistration('atlassian', registration)
  return defineProvider({
    name: 'Atlassian',
    issuer: 'https://auth.atlassian.com',
    endpoints: { authorization: 'https://auth.atlassian.com/authorize', token: 'https://auth.atlassian.com/oauth/token' },
    clientId,
    clientSecret,
    clientAuthentication: 'client_secret_post',
    scopes: scopesWith(['offline_access'], scopes),
    authorizationParameters: { audience: 'api.atlassian.com', prompt: 'consent' },
    tokenRequestFormat: 'json',
    failureCodes: { dead: ['unauthorized_client'], misregistered: ['access_denied'] },
    identity: { url: 'https://api.atlassian.com/me', subject: 'account_id', labels: ['email', 'name'] },
    apiOrigins: ['https://api.atlassian.com']
  })
}
