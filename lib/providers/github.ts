import type { Provider } from '../types.js'
import { defineProvider } from './define-provider.js'
import { basicAuthorization, readRegistration, type PresetRegistration } from './preset.js'

/** Your OAuth app at GitHub. */
export type GithubRegistration = PresetRegistration

/**
 * GitHub, with an OAuth app of yours: Settings, Developer settings, OAuth Apps. Its callback URL is
 * `<baseUrl>/connect/callback/<key of the provider>`. A GitHub App works too, but has permissions and no scopes: require none.
 *
 * Tokens of an OAuth app do not expire. Those of a GitHub App do after eight hours, and each refresh token is used once.
 *
 * Sources: docs.github.com "Authorizing OAuth apps" (endpoints, comma-joined scopes, PKCE with S256, parameters of the
 * token request in the body, errors with status 200), "Scopes for OAuth apps" (what includes what), "Refreshing user access tokens" (expiry,
 * rotation), "Troubleshooting OAuth app access token request errors", "Get the authenticated user", "Delete an app
 * authorization"; `bad_refresh_token`: DIAGNijmegen/rse-grand-challenge#3159; the `iss` that GitHub sends in authorization responses: openiddict/openiddict-core#2529.
 */
export function github (registration: GithubRegistration): Provider {
  const { clientId, clientSecret, scopes = [] } = readRegistration('github', registration)
  return defineProvider({
    name: 'GitHub',
    issuer: 'https://github.com/login/oauth',
    endpoints: {
      authorization: 'https://github.com/login/oauth/authorize',
      token: 'https://github.com/login/oauth/access_token'
    },
    clientId,
    clientSecret,
    clientAuthentication: 'client_secret_post',
    scopes,
    scopeSeparator: ',',
    impliedScopes: {
      repo: ['repo:status', 'repo_deployment', 'public_repo', 'repo:invite', 'security_events'],
      'admin:repo_hook': ['write:repo_hook', 'read:repo_hook'],
      'write:repo_hook': ['read:repo_hook'],
      'admin:org': ['write:org', 'read:org'],
      'write:org': ['read:org'],
      'admin:public_key': ['write:public_key', 'read:public_key'],
      'write:public_key': ['read:public_key'],
      'admin:gpg_key': ['write:gpg_key', 'read:gpg_key'],
      'write:gpg_key': ['read:gpg_key'],
      user: ['read:user', 'user:email', 'user:follow'],
      project: ['read:project'],
      'write:packages': ['read:packages']
    },
    failureCodes: { dead: ['bad_refresh_token'], misregistered: ['incorrect_client_credentials'] },
    identity: { url: 'https://api.github.com/user', subject: 'id', labels: ['login'] },
    revocationRequest: ({ accessToken }, client) => ({
      url: `https://api.github.com/applications/${encodeURIComponent(client.clientId)}/grant`,
      method: 'DELETE',
      headers: { accept: 'application/vnd.github+json', authorization: basicAuthorization(client), 'content-type': 'application/json' },
      body: JSON.stringify({ access_token: accessToken })
    }),
    apiOrigins: ['https://api.github.com', 'https://uploads.github.com']
  })
}
