import { createHash } from 'node:crypto'
import { randomToken } from '../random.js'
import type { FakeAccount, Ways } from './fake-quirks.js'

/** What an authorization request has asked for, and what became of it: all tokens of one grant stand and fall together. */
export interface FakeGrant {
  readonly account: FakeAccount
  readonly redirectUri: string
  readonly challenge: string | undefined
  readonly nonce: string | undefined
  readonly scopes: readonly string[]
  /** Whether it comes with a refresh token. */
  readonly offline: boolean
  revoked: boolean
}

export interface FakeTokens {
  readonly grant: FakeGrant
  readonly accessToken: string
  readonly refreshToken?: string
}

/** The memory of a fake provider. */
export interface FakeGrants {
  /** How often a refresh token has come again after its use. */
  readonly reuses: number
  issueCode (grant: Omit<FakeGrant, 'revoked'>): string
  /** Redeems a code, once. @returns null for one that is none, or does not belong to the request */
  redeem (code: string, redirectUri: string | undefined, verifier: string | undefined): FakeTokens | null
  refresh (refreshToken: string): FakeTokens | null
  /** The grant of an access token that is valid. */
  find (accessToken: string): FakeGrant | null
  /** Takes back a grant by one of its tokens, whether or not that is valid still. */
  revoke (token: string): boolean
  /** From now on no access token that was given so far is valid. */
  expire (): void
  /** From now on no grant that was given so far is. */
  revokeAll (): void
}

export function createFakeGrants ({ pkce, refreshTokens, accessTokenTtlSeconds, now }: Ways): FakeGrants {
  const codes = new Map<string, FakeGrant>()
  const access = new Map<string, { readonly grant: FakeGrant, expiresAt: number }>()
  const refresh = new Map<string, { readonly grant: FakeGrant, used: boolean }>()
  let reuses = 0

  function issue (grant: FakeGrant, lasting?: string): FakeTokens {
    const accessToken = randomToken()
    access.set(accessToken, { grant, expiresAt: now() + accessTokenTtlSeconds * 1000 })
    if (!grant.offline) return { grant, accessToken }
    if (lasting !== undefined) return { grant, accessToken, ...refreshTokens === 'lasting' && { refreshToken: lasting } }
    const refreshToken = randomToken()
    refresh.set(refreshToken, { grant, used: false })
    return { grant, accessToken, refreshToken }
  }

  return {
    get reuses () { return reuses },
    issueCode (grant) {
      const code = randomToken()
      codes.set(code, { ...grant, revoked: false })
      return code
    },
    redeem (code, redirectUri, verifier) {
      const grant = codes.get(code)
      codes.delete(code)
      if (grant === undefined || grant.redirectUri !== redirectUri) return null
      if (pkce !== 'ignored' && grant.challenge !== (verifier === undefined ? undefined : createHash('sha256').update(verifier).digest('base64url'))) return null
      return issue(grant)
    },
    refresh (refreshToken) {
      const known = refresh.get(refreshToken)
      if (known === undefined || known.grant.revoked) return null
      if (refreshTokens === 'lasting' || refreshTokens === 'silent') return issue(known.grant, refreshToken)
      if (refreshTokens === 'renewed') return issue(known.grant)
      if (known.used) {
        reuses++
        known.grant.revoked = true        // whoever has it is not the only one (RFC 9700 section 4.14.2)
        return null
      }
      known.used = true
      return issue(known.grant)
    },
    find (accessToken) {
      const known = access.get(accessToken)
      return known === undefined || known.grant.revoked || known.expiresAt <= now() ? null : known.grant
    },
    revoke (token) {
      const known = refresh.get(token) ?? access.get(token)
      if (known === undefined) return false
      known.grant.revoked = true
      return true
    },
    expire () {
      for (const known of access.values()) known.expiresAt = 0
    },
    revokeAll () {
      for (const { grant } of [...access.values(), ...refresh.values()]) grant.revoked = true
    }
  }
}
