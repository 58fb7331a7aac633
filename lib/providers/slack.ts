import type { Provider } from '../types.js'
import { defineProvider } from './define-provider.js'
import { readRegistration, type PresetRegistration } from './preset.js'

/**
 * Slack, as the user (not as a bot), with an app of yours: api.slack.com/apps, OAuth & Permissions. The redirect URL there is
 * `<baseUrl>/connect/callback/<key of the provider>`. `scopes` are user token scopes, such as `search:read`.
 *
 * The user's token stands in `authed_user` of the answer to the code, and at the top of the answer to a refresh. Tokens expire, after 12 hours, only where the
 * app has token rotation; each refresh token is then used once. Errors come with status 200 and `ok: false`. An account is known by its user id, which is
 * unique within one workspace. Leave PKCE off in the app's settings: with it Slack takes the app for a public client, and does not take its secret.
 *
 * Sources: docs.slack.dev "Installing with OAuth" (endpoints, user_scope, commas), "oauth.v2.access" (Basic, refresh, error codes), "Using
 * token rotation", "Using PKCE", "auth.test", "auth.revoke"; the answer to a refresh: slackapi/python-slack-sdk, slack_sdk/oauth/token_rotation/rotator.py;
 * PKCE together with a secret: paradigmxyz/centaur#1100. What Slack does with a challenge where PKCE is off, and that a dead refresh token is called
 * `invalid_refresh_token`, were not checked.
 */
export function slack (registration: PresetRegistration): Provider {
  const { clientId, clientSecret, scopes = [] } = readRegistration('slack', registration)
  return defineProvider({
    name: 'Slack',
    issuer: 'https://slack.com',
    endpoints: { authorization: 'https://slack.com/oauth/v2/authorize', token: 'https://slack.com/api/oauth.v2.access' },
    clientId,
    clientSecret,
    clientAuthentication: 'client_secret_basic',
    scopes,
    scopeParameter: 'user_scope',
    scopeSeparator: ',',
    requestScopeSeparator: ',',
    tokenResponsePath: 'authed_user',
    failureCodes: { dead: ['invalid_refresh_token'], misregistered: ['invalid_client_id', 'bad_client_secret'] },
    identity: { url: 'https://slack.com/api/auth.test', method: 'POST', subject: 'user_id', labels: ['user'] },
    revocationRequest: ({ accessToken }) => ({
      url: 'https://slack.com/api/auth.revoke',
      method: 'POST',
      headers: { authorization: `Bearer ${accessToken}` }
    }),
    apiOrigins: ['https://slack.com']
  })
}
