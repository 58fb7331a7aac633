import type { Provider } from '../types.js'
import { defineProvider } from './define-provider.js'
import { readRegistration, type PresetRegistration } from './preset.js'

/**
 * Figma, with an OAuth app of yours: figma.com/developers/apps. Its redirect URL, under OAuth credentials, is
 * `<baseUrl>/connect/callback/<key of the provider>`; its scopes are chosen there too.
 *
 * Tokens are refreshed at an address of its own, which gives no new refresh token. The account is told only with the scope `current_user:read`.
 *
 * Sources: developers.figma.com "Authentication" and "OAuth apps" (endpoints, Basic), "GET me"; a refresh gives no refresh token: arcticjs.dev/providers/figma.
 * Lifetimes, error codes, revocation, and whether Figma checks the PKCE challenge were not checked.
 */
export function figma (registration: PresetRegistration): Provider {
  const { clientId, clientSecret, scopes = [] } = readRegistration('figma', registration)
  return defineProvider({
    name: 'Figma',
    issuer: 'https://www.figma.com',
    endpoints: {
      authorization: 'https://www.figma.com/oauth',
      token: 'https://api.figma.com/v1/oauth/token',
      refresh: 'https://api.figma.com/v1/oauth/refresh'
    },
    clientId,
    clientSecret,
    clientAuthentication: 'client_secret_basic',
    scopes,
    identity: { url: 'https://api.figma.com/v1/me', subject: 'id', labels: ['email', 'handle'] },
    apiOrigins: ['https://api.figma.com']
  })
}
