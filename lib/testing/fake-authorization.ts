import type { FakeGrants } from './fake-grants.js'
import type { FakeAccount, Ways } from './fake-quirks.js'
import type { FakeRequest } from './fake-requests.js'

/**
 * Answers an authorization request (RFC 6749 section 4.1.2) at once, as if somebody had decided.
 * @returns where the browser goes; null when it cannot be sent anywhere
 */
export function authorize ({ parameters }: FakeRequest, { ways, grants, issuer, account, decision }: {
  readonly ways: Ways, readonly grants: FakeGrants, readonly issuer: string, readonly account: FakeAccount, readonly decision: 'allow' | 'deny'
}): URL | null {
  const { redirect_uri: redirectUri = '', client_id: clientId, state } = parameters
  if (clientId !== ways.clientId || !URL.canParse(redirectUri)) return null
  if (ways.redirectUris !== undefined && !ways.redirectUris.includes(redirectUri)) return null
  const url = new URL(redirectUri)
  const respond = (values: Readonly<Record<string, string | undefined>>): URL => {
    for (const [name, value] of Object.entries({ ...values, state, ...ways.namesIssuer && { iss: issuer } })) {
      if (value !== undefined) url.searchParams.set(name, value)
    }
    return url
  }
  if (!isComplete(parameters, ways)) return respond({ error: 'invalid_request' })
  if (decision === 'deny') return respond({ error: 'access_denied' })
  const asked = (parameters[ways.scopeParameter] ?? '').split(ways.requestScopeSeparator).filter(scope => scope !== '')
  // No scope holds a space (RFC 6749 section 3.3): these are separated by something else.
  if (asked.some(scope => scope.includes(' '))) return respond({ error: 'invalid_scope' })
  return respond({
    code: grants.issueCode({
      account,
      redirectUri,
      challenge: parameters['code_challenge'],
      nonce: parameters['nonce'],
      scopes: [...new Set([...asked, ...ways.addedScopes])].filter(scope => !ways.withheldScopes.includes(scope)),
      offline: ways.refreshTokens !== 'none' && has(parameters, ways.offlineParameters) && (ways.offlineScope === undefined || asked.includes(ways.offlineScope))
    })
  })
}

function isComplete (parameters: FakeRequest['parameters'], { requiredParameters, pkce }: Ways): boolean {
  const { response_type: type, code_challenge: challenge, code_challenge_method: method } = parameters
  if (type !== 'code' || !has(parameters, requiredParameters)) return false
  if (pkce === 'ignored') return true
  return challenge === undefined ? pkce === 'optional' : method === 'S256'
}

function has (parameters: FakeRequest['parameters'], wanted: Readonly<Record<string, string>>): boolean {
  return Object.entries(wanted).every(([name, value]) => parameters[name] === value)
}
