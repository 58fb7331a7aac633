import { OptionsError } from '../errors.js'
import type { Provider } from '../types.js'
import { defineProvider } from './define-provider.js'
import { readRegistration, scopesWith, type PresetRegistration } from './preset.js'

/** Your app registration at Microsoft Entra. */
export interface MicrosoftRegistration extends PresetRegistration {
  /** The directory (tenant) id, a GUID: whose users may connect. That of personal accounts is 9188040d-6c67-4c5b-b112-36a304b66dad. */
  readonly tenant: string
}

const GUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/

/**
 * Microsoft Graph, with an app registration of yours in one tenant: entra.microsoft.com, App registrations. Its redirect URI, of platform "Web", is
 * `<baseUrl>/connect/callback/<key of the provider>`. `common` and `organizations` are no tenants: their tokens come from issuers that
 * nobody could name beforehand.
 *
 * `openid`, `profile`, `email` and `offline_access` are always asked for, for the account and the refresh token. Name scopes of Graph without
 * the prefix `https://graph.microsoft.com/`, as in `Mail.Read`; all must be of one resource. Endpoints are pinned: Entra's metadata do not list S256.
 * It has no revocation endpoint: users take access back at myapps.microsoft.com.
 *
 * Sources: learn.microsoft.com "Microsoft identity platform and OAuth 2.0 authorization code flow" (endpoints, S256, client secret, offline_access, error
 * codes, refresh), "Scopes and permissions"; scopes with and without the prefix are the same: AzureAD/microsoft-authentication-library-for-android#672;
 * offline_access does not come back: AzureAD/microsoft-authentication-library-for-go#445. Which name and case scopes come back in was not checked: both are taken.
 */
export function microsoft (registration: MicrosoftRegistration): Provider {
  const { clientId, clientSecret, scopes, tenant } = readRegistration('microsoft', registration, ['clientId', 'clientSecret', 'scopes', 'tenant'])
  if (typeof tenant !== 'string' || !GUID.test(tenant)) throw new OptionsError('microsoft: must be the directory (tenant) id, a GUID in lower case → at tenant')
  const authority = `https://login.microsoftonline.com/${tenant}`
  const asked = scopesWith(['openid', 'profile', 'email', 'offline_access'], scopes)
  return defineProvider({
    name: 'Microsoft',
    issuer: `${authority}/v2.0`,
    endpoints: { authorization: `${authority}/oauth2/v2.0/authorize`, token: `${authority}/oauth2/v2.0/token` },
    clientId,
    clientSecret,
    clientAuthentication: 'client_secret_post',
    scopes: asked,
    ignoresScopeCase: true,
    failureCodes: { dead: ['interaction_required', 'consent_required'], misregistered: ['invalid_resource'] },
    apiOrigins: ['https://graph.microsoft.com']
  })
}
