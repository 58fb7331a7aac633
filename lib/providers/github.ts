import { OptionsError } from '../errors.js'
import type { Provider } from '../types.js'
import { defineProvider } from './define-provider.js'

/** Your OAuth app at GitHub. */
export interface GithubRegistration {
  readonly clientId: string
  readonly clientSecret: string
  /** Scopes that every authorization request asks for. @default [] */
  readonly scopes?: readonly string[]
}

/**
 * GitHub, with an OAuth app of yours: Settings, Developer settings, OAuth Apps. Its callback URL is
 * `<baseUrl>/connect/callback/<key of the provider>`. A GitHub App works too, but has permissions and no scopes: require none.
 *
 * Sources: docs.github.com "Authorizing OAuth apps" (endpoints, comma-joined scopes, PKCE with S256, parameters of the
 * token request in the body); the `iss` that GitHub sends in authorization responses: openiddict/openiddict-core#2529.
 */
export function github ({ clientId, clientSecret, scopes = [], ...others }: GithubRegistration): Provider {
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) throw new OptionsError(`github: unknown: ${unknown}; known are: clientId, clientSecret, scopes`)
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
    apiOrigins: ['https://api.github.com', 'https://uploads.github.com']
  })
}
