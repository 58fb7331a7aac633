import type { Provider } from '../types.js'
import { defineProvider } from './define-provider.js'
import { readRegistration, type PresetRegistration } from './preset.js'

/**
 * HubSpot, with an app of yours in a developer account: Development, Projects or Legacy apps, Auth. Its redirect URL is
 * `<baseUrl>/connect/callback/<key of the provider>`. What it asks for must be the app's required scopes.
 *
 * Access tokens live for 30 minutes. The account is the HubSpot account that the app is installed in, not the person. Granted scopes come
 * as a list, `scopes`, which is not read: they count as granted as asked for.
 *
 * Sources: developers.hubspot.com "Manage OAuth tokens" (2026-03: endpoints, client credentials in the body, 30 minutes, `hub_id`, revocation of refresh
 * tokens), "New OAuth v3 API Endpoints and Standardized Error Responses" (`error: invalid_grant` beside `status: BAD_REFRESH_TOKEN`); older answers have the latter
 * alone: nango.dev "HubSpot OAuth BAD_REFRESH_TOKEN". Whether HubSpot checks the PKCE challenge of a client with a secret was not checked.
 */
export function hubspot (registration: PresetRegistration): Provider {
  const { clientId, clientSecret, scopes = [] } = readRegistration('hubspot', registration)
  return defineProvider({
    name: 'HubSpot',
    issuer: 'https://app.hubspot.com',
    endpoints: {
      authorization: 'https://app.hubspot.com/oauth/authorize',
      token: 'https://api.hubapi.com/oauth/2026-03/token',
      revocation: 'https://api.hubapi.com/oauth/2026-03/token/revoke'
    },
    clientId,
    clientSecret,
    clientAuthentication: 'client_secret_post',
    scopes,
    failureCodes: { dead: ['BAD_REFRESH_TOKEN'] },
    identity: { subject: 'hub_id' },
    apiOrigins: ['https://api.hubapi.com']
  })
}
