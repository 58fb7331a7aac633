import { scopeSchema } from '../schemas.js'
import type { Account, Grant, Provider } from '../types.js'
import type { Tokens } from './token-request.js'

const MAX_OTHER_SCOPES = 100
const MAX_SCOPE_LENGTH = 256
const MAX_LIFETIME_S = 10 * 365 * 24 * 60 * 60

/**
 * What a provider granted.
 * @param asked the scopes that were asked for
 * @param account whose it is, if the provider tells
 */
export function readGrant (provider: Provider, tokens: Tokens, asked: readonly string[], account?: Account): Grant {
  return {
    accessToken: tokens.access_token,
    requestedScopes: asked,
    scopes: grantedScopes(provider, tokens, asked) ?? asked,
    ...tokens.refresh_token !== undefined && { refreshToken: tokens.refresh_token },
    ...expiry(provider, tokens.expires_in),
    ...account !== undefined && { account }
  }
}

/** What a grant is after a refresh: what the answer leaves out stays as it was (RFC 6749 section 6). */
export function refreshedGrant (provider: Provider, tokens: Tokens, { expiresAt: _, ...before }: Grant): Grant {
  const scopes = grantedScopes(provider, tokens, before.requestedScopes)
  return {
    ...before,
    accessToken: tokens.access_token,
    ...tokens.refresh_token !== undefined && { refreshToken: tokens.refresh_token },
    ...scopes !== undefined && { scopes },
    ...expiry(provider, tokens.expires_in)
  }
}

function grantedScopes ({ scopeSeparator }: Provider, { scope }: Tokens, asked: readonly string[]): readonly string[] | undefined {
  return scope === undefined ? undefined : readScopes(scope.split(scopeSeparator), asked)
}

/** Less than a second says nothing: it would ask the user again at once, for ever. */
function expiry ({ accessTokenTtlMs }: Provider, expiresIn = 0): Pick<Grant, 'expiresAt'> {
  const ttlMs = expiresIn < 1 ? accessTokenTtlMs : Math.min(expiresIn, MAX_LIFETIME_S) * 1000
  return ttlMs === undefined ? {} : { expiresAt: Date.now() + ttlMs }
}

/** Those that were asked for, and of what else the provider says as much as makes sense. */
function readScopes (granted: readonly string[], asked: readonly string[]): readonly string[] {
  const others = granted.filter(scope => !asked.includes(scope) && scope.length <= MAX_SCOPE_LENGTH && scopeSchema.safeParse(scope).success)
  return [...new Set([...granted.filter(scope => asked.includes(scope)), ...others.slice(0, MAX_OTHER_SCOPES)])]
}
