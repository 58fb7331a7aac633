import type { Grant } from '../types.js'

/** They shape the login or the refresh token and not what the API allows, and many servers do not echo them. */
const NEVER_MISSING: readonly string[] = ['offline_access', 'openid', 'profile', 'email']

/** The scopes that are wanted and not granted. Scopes are compared as sets (RFC 6749 section 3.3). */
export function missingScopes (grant: Grant, wanted: readonly string[]): readonly string[] {
  return wanted.filter(scope => !grant.scopes.includes(scope) && !NEVER_MISSING.includes(scope))
}

/** Whether the last authorization asked for all of these already: asking again would not change the answer. */
export function wereWithheld (grant: Grant, missing: readonly string[]): boolean {
  return missing.every(scope => grant.requestedScopes.includes(scope))
}

export function isExpired ({ expiresAt }: Grant): boolean {
  return expiresAt !== undefined && expiresAt <= Date.now()
}
