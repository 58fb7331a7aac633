import type { ServerResponse } from 'node:http'
import { signIdToken, tokenHash } from './fake-id-token.js'
import type { FakeTokens } from './fake-grants.js'
import type { Ways } from './fake-quirks.js'
import { answer, setAt } from './fake-requests.js'

/** Answers with tokens (RFC 6749 section 5.1), in the way of this provider. */
export async function answerTokens (response: ServerResponse, ways: Ways, issuer: string, to: 'exchange' | 'refresh', { grant, accessToken, refreshToken }: FakeTokens): Promise<void> {
  const tells = ways.tellsScopes === 'exchange' ? to === 'exchange' : ways.tellsScopes
  const tokens = {
    access_token: accessToken,
    token_type: ways.tokenType,
    ...refreshToken !== undefined && { refresh_token: refreshToken },
    ...ways.tellsExpiry && { expires_in: ways.accessTokenTtlSeconds },
    ...tells && { scope: grant.scopes.map(scope => nameScope(scope, ways)).filter(scope => scope !== '').join(ways.scopeSeparator) },
    ...grant.scopes.includes('openid') && { id_token: await idToken(ways, issuer, grant, accessToken) }
  }
  const body: Record<string, unknown> = { ...ways.extraMembers }
  const { in: place, subject, label } = ways.identity
  if (place === 'token response') {
    setAt(body, subject, grant.account.subject)
    if (label !== undefined && grant.account.label !== undefined) setAt(body, label, grant.account.label)
  }
  const nested = ways.tokenResponsePath !== undefined && (to === 'exchange' || ways.nestsRefresh)
  if (nested) setAt(body, ways.tokenResponsePath!, tokens)
  answer(response, nested ? body : { ...body, ...tokens })
}

function nameScope (scope: string, { scopeNames, lowerCaseScopes }: Ways): string {
  const name = scopeNames[scope] ?? scope
  return lowerCaseScopes ? name.toLowerCase() : name
}

async function idToken ({ clientId, now, accessTokenTtlSeconds }: Ways, issuer: string, { account, nonce }: FakeTokens['grant'], accessToken: string): Promise<string> {
  const issuedAt = Math.floor(now() / 1000)
  return await signIdToken({
    iss: issuer,
    aud: clientId,
    sub: String(account.subject),
    iat: issuedAt,
    exp: issuedAt + accessTokenTtlSeconds,
    at_hash: tokenHash(accessToken),
    ...account.label !== undefined && { email: account.label },
    ...nonce !== undefined && { nonce }
  })
}
