import type { Provider } from '../types.js'
import { defineProvider } from './define-provider.js'
import { readRegistration, type PresetRegistration } from './preset.js'

/**
 * Linear, with an OAuth2 application of yours: linear.app/settings/api/applications. Its callback URL is
 * `<baseUrl>/connect/callback/<key of the provider>`.
 *
 * Scopes are asked for with commas, and come back with spaces; `read` is always granted. Access tokens live for a day, and a refresh token comes with each.
 *
 * Sources: linear.app/developers "OAuth 2.0 authentication" (endpoints, scopes, PKCE with S256, secret in the body, refresh tokens for all
 * applications since April 2026, revocation), "Getting started" of the GraphQL API. Whether a refresh token can be used twice was not checked.
 */
export function linear (registration: PresetRegistration): Provider {
  const { clientId, clientSecret, scopes = [] } = readRegistration('linear', registration)
  return defineProvider({
    name: 'Linear',
    issuer: 'https://linear.app',
    endpoints: {
      authorization: 'https://linear.app/oauth/authorize',
      token: 'https://api.linear.app/oauth/token',
      revocation: 'https://api.linear.app/oauth/revoke'
    },
    clientId,
    clientSecret,
    clientAuthentication: 'client_secret_post',
    scopes,
    requestScopeSeparator: ',',
    identity: {
      url: 'https://api.linear.app/graphql',
      method: 'POST',
      body: JSON.stringify({ query: '{ viewer { id email name } }' }),
      subject: 'data.viewer.id',
      labels: ['data.viewer.email', 'data.viewer.name']
    },
    apiOrigins: ['https://api.linear.app']
  })
}
