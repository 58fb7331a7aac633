import type { Provider, ProviderDefinition } from '../types.js'
import { defineProvider } from './define-provider.js'

/**
 * GitHub, with an OAuth app or a GitHub App of yours. Register `<baseUrl>/connect/callback/<key>` as its callback URL
 * (Settings, Developer settings, OAuth Apps).
 *
 * Sources: docs.github.com "Authorizing OAuth apps" (endpoints, comma-joined scopes, PKCE with S256, parameters of the
 * token request in the body); the `iss` that GitHub sends in authorization responses: openiddict/openiddict-core#2529.
 */
export function github (registration: Pick<ProviderDefinition, 'clientId' | 'clientSecret' | 'scopes'>): Provider {
  return defineProvider({
    name: 'GitHub',
    issuer: 'https://github.com/login/oauth',
    endpoints: {
      authorization: 'https://github.com/login/oauth/authorize',
      token: 'https://github.com/login/oauth/access_token'
    },
    clientAuthentication: 'client_secret_post',
    scopeSeparator: ',',
    apiOrigins: ['https://api.github.com', 'https://uploads.github.com'],
    ...registration
  })
}
