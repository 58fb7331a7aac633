import { OptionsError } from '../errors.js'
import type { Provider } from '../types.js'
import { defineProvider } from './define-provider.js'
import { readRegistration, type PresetRegistration } from './preset.js'

/** Your application at GitLab. */
export interface GitlabRegistration extends PresetRegistration {
  /** Where your GitLab is. Inside your network it also needs `privateHosts`, which can be added to what this returns. @default 'https://gitlab.com' */
  readonly origin?: string
}

/**
 * GitLab, gitlab.com or your own, with an application of yours: user settings, Applications (or of a group, or in the admin area). Its redirect URI is
 * `<baseUrl>/connect/callback/<key of the provider>`; its scopes are chosen there too. Leave it confidential.
 *
 * Access tokens live for two hours. A refresh ends both tokens before it. The account is told only with the scope `read_user`, `read_api` or `api`.
 *
 * Sources: docs.gitlab.com "OAuth 2.0 identity provider API" (endpoints, PKCE with S256, secret in the body, lifetime, rotation, revocation), "Configure GitLab as
 * an OAuth 2.0 authentication identity provider" (scopes), "Users API".
 */
export function gitlab (registration: GitlabRegistration): Provider {
  const { clientId, clientSecret, scopes = [], origin = 'https://gitlab.com' } = readRegistration('gitlab', registration, ['clientId', 'clientSecret', 'scopes', 'origin'])
  if (!URL.canParse(origin) || new URL(origin).origin !== origin) throw new OptionsError('gitlab: must be an origin, such as https://gitlab.example.com, without a path or a trailing slash → at origin')
  return defineProvider({
    name: 'GitLab',
    issuer: origin,
    endpoints: { authorization: `${origin}/oauth/authorize`, token: `${origin}/oauth/token`, revocation: `${origin}/oauth/revoke` },
    clientId,
    clientSecret,
    clientAuthentication: 'client_secret_post',
    scopes,
    identity: { url: `${origin}/api/v4/user`, subject: 'id', labels: ['username'] },
    apiOrigins: [origin]
  })
}
