import type { Grant } from '../types.js'

/** These affect sign-in or the refresh token, not what the API allows; many servers do not echo them. */
const NEVER_MISSING: readonly string[] = ['offline_access', 'openid', 'profile', 'email']

/** The scopes that are wanted and not granted. Scopes are compared as sets (RFC 6749 section 3.3). */
export function missingScopes (grant: Grant, wanted: readonly string[]): readonly string[] {
  return wanted.filter(scope => !grant.scopes.includes(scope) && !NEVER_MISSING.includes(scope))
}

/** Granted scopes without those that the provider added by itself. */
export function askedAndGranted ({ scopes, requestedScopes }: Grant): readonly string[] {
  return scopes.filter(scope => requestedScopes.includes(scope))
}

/** Whether all scopes that are missing have been asked for since the user connected: asking again would not change the answer. */
export function isWithheld (grant: Grant, wanted: readonly string[]): boolean {
  const missing = missingScopes(grant, wanted)
  return missing.length > 0 && missing.every(scope => grant.requestedScopes.includes(scope))
}

export function isExpired ({ expiresAt }: Grant): boolean {
  return expiresAt !== undefined && expiresAt <= Date.now()
}
