import type { Grant, Provider } from '../types.js'

type Scopes = Pick<Provider, 'impliedScopes' | 'ignoresScopeCase'>

/** These affect sign-in or the refresh token, not what the API allows; many servers do not echo them. */
const NEVER_MISSING: readonly string[] = ['offline_access', 'openid', 'profile', 'email']

/** The scopes that are wanted and not granted. Scopes are compared as sets (RFC 6749 section 3.3), with what they imply at the provider. */
export function missingScopes (provider: Scopes, { scopes }: Pick<Grant, 'scopes'>, wanted: readonly string[]): readonly string[] {
  const allowed = allowedBy(provider, scopes)
  return wanted.filter(scope => !allowed.has(spelling(provider, scope)) && !NEVER_MISSING.includes(scope))
}

/** Granted scopes without those that the provider added by itself. */
export function askedAndGranted (provider: Scopes, grant: Grant): readonly string[] {
  return grant.requestedScopes.filter(scope => missingScopes(provider, grant, [scope]).length === 0)
}

/** Whether all scopes that are missing have been asked for since the user connected: asking again would not change the answer. */
export function isWithheld (provider: Scopes, grant: Grant, wanted: readonly string[]): boolean {
  const missing = missingScopes(provider, grant, wanted)
  return missing.length > 0 && missing.every(scope => grant.requestedScopes.includes(scope))
}

function allowedBy (provider: Scopes, granted: readonly string[]): ReadonlySet<string> {
  const allowed = new Set<string>()
  const implied = new Map(Object.entries(provider.impliedScopes).map(([scope, others]) => [spelling(provider, scope), others]))
  const add = (scope: string): void => {
    const spelled = spelling(provider, scope)
    if (allowed.has(spelled)) return
    allowed.add(spelled)
    implied.get(spelled)?.forEach(add)
  }
  granted.forEach(add)
  return allowed
}

function spelling ({ ignoresScopeCase }: Scopes, scope: string): string {
  return ignoresScopeCase ? scope.toLowerCase() : scope
}
