import type { FakeQuirks } from './fake-quirks.js'

/*
 * What the data of a preset do not say, and its provider does: by the sources that stand at the preset. Where those say nothing of a
 * refresh token that is used twice, it ends the grant.
 */

const HOUR_S = 60 * 60
const DAY_S = 24 * HOUR_S
const YEARS_S = 10 * 365 * DAY_S
const EMAIL = 'https://www.googleapis.com/auth/userinfo.email'
const PROFILE = 'https://www.googleapis.com/auth/userinfo.profile'
/** Nobody has said that its challenge is looked at. */
const PKCE_UNKNOWN = { pkce: 'ignored' } as const

/** By the name of the provider. */
export const PRESET_QUIRKS: Readonly<Record<string, FakeQuirks>> = {
  Airtable: {},
  Atlassian: {
    ...PKCE_UNKNOWN,
    errorStatus: 403,
    offlineScope: 'offline_access',
    requiredParameters: { audience: 'api.atlassian.com', prompt: 'consent' },
    identityScopes: ['read:me']
  },
  Box: { ...PKCE_UNKNOWN, tellsScopes: false },
  Discord: { pkce: 'optional', namesIssuer: true, accessTokenTtlSeconds: 7 * DAY_S, refreshTokens: 'renewed', identityScopes: ['identify'] },
  Dropbox: { accessTokenTtlSeconds: 4 * HOUR_S, refreshTokens: 'silent', offlineParameters: { token_access_type: 'offline' }, identityScopes: ['account_info.read'] },
  Figma: { ...PKCE_UNKNOWN, tellsScopes: false, refreshTokens: 'silent', identityScopes: ['current_user:read'] },
  GitHub: { namesIssuer: true, errorStatus: 200, tellsExpiry: false, accessTokenTtlSeconds: YEARS_S, refreshTokens: 'none', account: { subject: 1001, label: 'alice' } },
  GitLab: { tellsScopes: false, accessTokenTtlSeconds: 2 * HOUR_S, account: { subject: 1001, label: 'alice' }, identityScopes: ['read_user', 'read_api', 'api'] },
  Google: {
    namesIssuer: true,
    refreshTokens: 'silent',
    offlineParameters: { access_type: 'offline', prompt: 'consent' },
    scopeNames: { email: EMAIL, profile: PROFILE },
    scopesSupported: ['openid', 'email', 'profile']
  },
  HubSpot: { ...PKCE_UNKNOWN, tellsScopes: false, accessTokenTtlSeconds: HOUR_S / 2, refreshTokens: 'lasting', account: { subject: 1001 }, errorCodes: { dead: 'invalid_grant' } },
  Linear: { accessTokenTtlSeconds: DAY_S, addedScopes: ['read'] },
  Microsoft: {
    lowerCaseScopes: true,
    scopeNames: { offline_access: '' },
    offlineScope: 'offline_access',
    refreshTokens: 'renewed',
    errorCodes: { dead: 'invalid_grant', misregistered: 'invalid_client' }
  },
  Notion: { ...PKCE_UNKNOWN, tellsScopes: false, tellsExpiry: false, requiredParameters: { owner: 'user' }, account: { subject: 'bot-1', label: "Alice's workspace" } },
  Slack: {
    ...PKCE_UNKNOWN,
    errorStatus: 200,
    errorMembers: { ok: false },
    extraMembers: { ok: true },
    tokenType: 'user',
    nestsRefresh: false,
    accessTokenTtlSeconds: 12 * HOUR_S
  },
  Spotify: { pkce: 'optional', refreshTokens: 'silent' },
  Zoom: { identityScopes: ['user:read:user'] }
}
