import type { Provider } from '../types.js'
import { defineProvider } from './define-provider.js'
import { readRegistration, scopesWith, type PresetRegistration } from './preset.js'

/**
 * Discord, as the user, with an application of yours: discord.com/developers/applications, OAuth2. A redirect there is
 * `<baseUrl>/connect/callback/<key of the provider>`.
 *
 * `identify` is always asked for: it says which account it is. Access tokens live for a week.
 *
 * Sources: discord.com/developers/docs "OAuth2" (endpoints, Basic or post, forms alone, lifetime, revocation by RFC 7009, scopes), "Get Current User";
 * discord.com/.well-known/oauth-authorization-server (issuer, S256, `iss` in authorization responses). arctic says of clients with a secret that Discord does
 * not check their PKCE challenge; that, and whether a refresh token can be used twice, were not checked.
 */
export function discord (registration: PresetRegistration): Provider {
  const { clientId, clientSecret, scopes } = readRegistration('discord', registration)
  return defineProvider({
    name: 'Discord',
    issuer: 'https://discord.com',
    endpoints: {
      authorization: 'https://discord.com/oauth2/authorize',
      token: 'https://discord.com/api/oauth2/token',
      revocation: 'https://discord.com/api/oauth2/token/revoke'
    },
    clientId,
    clientSecret,
    clientAuthentication: 'client_secret_basic',
    scopes: scopesWith(['identify'], scopes),
    identity: { url: 'https://discord.com/api/users/@me', subject: 'id', labels: ['username'] },
    apiOrigins: ['https://discord.com']
  })
}
