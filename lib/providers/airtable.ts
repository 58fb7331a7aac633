import type { Provider } from '../types.js'
import { defineProvider } from './define-provider.js'
import { readRegistration, type PresetRegistration } from './preset.js'

/**
 * Airtable, with an OAuth integration of yours: airtable.com/create/oauth. Its redirect URL is
 * `<baseUrl>/connect/callback/<key of the provider>`; its scopes are chosen there too, and at least one must be asked for.
 *
 * A refresh replaces the refresh token, and ends the access token before it. The account has a label only with the scope `user.email:read`.
 *
 * Sources: airtable.com/developers/web/api "OAuth reference" (endpoints, PKCE with S256 required, Basic for clients with a secret, scopes, refresh), "Get user ID &
 * scopes"; `invalid_grant`: nango.dev "Airtable OAuth refresh token invalid_grant". Lifetimes and revocation were not checked.
 */
export function airtable (registration: PresetRegistration): Provider {
  const { clientId, clientSecret, scopes = [] } = readRegistration('airtable', registration)
  return defineProvider({
    name: 'Airtable',
    issuer: 'https://airtable.com',
    endpoints: { authorization: 'https://airtable.com/oauth2/v1/authorize', token: 'https://airtable.com/oauth2/v1/token' },
    clientId,
    clientSecret,
    clientAuthentication: 'client_secret_basic',
    scopes,
    identity: { url: 'https://api.airtable.com/v0/meta/whoami', subject: 'id', labels: ['email'] },
    apiOrigins: ['https://api.airtable.com']
  })
}
