import type { Provider } from '../types.js'
import { defineProvider } from './define-provider.js'
import { basicAuthorization, readRegistration, type PresetRegistration } from './preset.js'

const VERSION = { 'notion-version': '2025-09-03' }

/**
 * Notion, with a public integration of yours: notion.so/profile/integrations. The redirect URI there is
 * `<baseUrl>/connect/callback/<key of the provider>`. It has capabilities and no scopes, and users choose pages: require no scopes.
 *
 * Each refresh replaces the refresh token. No lifetime is told: a token is used until the API answers 401. The account is the bot that an
 * authorization makes, called by its workspace. Requests to the API need a header `Notion-Version` of yours.
 *
 * Sources: developers.notion.com "Authorization", "Create a token", "Refresh a token" (JSON, Basic, rotation, `bot_id`, `workspace_name`),
 * "Revoke token"; the secret in the body is refused: n24q02m/better-notion-mcp#558. Whether Notion checks the PKCE challenge was not checked.
 */
export function notion (registration: Omit<PresetRegistration, 'scopes'>): Provider {
  const { clientId, clientSecret } = readRegistration('notion', registration, ['clientId', 'clientSecret'])
  return defineProvider({
    name: 'Notion',
    issuer: 'https://api.notion.com',
    endpoints: { authorization: 'https://api.notion.com/v1/oauth/authorize', token: 'https://api.notion.com/v1/oauth/token' },
    clientId,
    clientSecret,
    clientAuthentication: 'client_secret_basic',
    authorizationParameters: { owner: 'user' },
    tokenRequestFormat: 'json',
    requestHeaders: VERSION,
    identity: { subject: 'bot_id', labels: ['workspace_name'] },
    revocationRequest: ({ accessToken }, client) => ({
      url: 'https://api.notion.com/v1/oauth/revoke',
      method: 'POST',
      headers: { ...VERSION, authorization: basicAuthorization(client), 'content-type': 'application/json' },
      body: JSON.stringify({ token: accessToken })
    }),
    apiOrigins: ['https://api.notion.com']
  })
}
