/*
 * The ways of a fake provider, as data. Without any it does as RFC 6749, RFC 7636, RFC 7009 and OpenID Connect say, with refresh tokens that
 * are used once.
 */

/** What a fake provider does otherwise. */
export interface FakeQuirks {
  /** @default 'client' */
  readonly clientId?: string
  /** @default 'secret' */
  readonly clientSecret?: string
  /** The only way in which clients may authenticate. @default either */
  readonly clientAuthentication?: 'client_secret_basic' | 'client_secret_post'
  /** Whether Basic credentials are decoded from form encoding, as RFC 6749 section 2.3.1 says and not every server does. @default true */
  readonly decodesCredentials?: boolean
  /** The only way in which token requests may be sent. @default either */
  readonly tokenRequestFormat?: 'form' | 'json'
  /** Whether an authorization request needs a code challenge, which must be `S256` where there is one; `ignored` never looks at it. @default 'required' */
  readonly pkce?: 'required' | 'optional' | 'ignored'
  /** The only addresses to which browsers are sent back. @default any */
  readonly redirectUris?: readonly string[]
  /** Parameters that an authorization request must have, such as `{ owner: 'user' }`. @default {} */
  readonly requiredParameters?: Readonly<Record<string, string>>
  /** Headers that requests must have, in lower case; an empty text stands for any. @default {} */
  readonly requiredHeaders?: Readonly<Record<string, string>>
  /** The parameter of the authorization request that holds the scopes. @default 'scope' */
  readonly scopeParameter?: string
  /** What separates them there. @default ' ' */
  readonly requestScopeSeparator?: ' ' | ','
  /** What separates them in answers. @default ' ' */
  readonly scopeSeparator?: ' ' | ','
  /** What scopes are called in answers, by what they were asked for as; those with an empty name are not told. @default {} */
  readonly scopeNames?: Readonly<Record<string, string>>
  /** Whether answers have them in lower case. @default false */
  readonly lowerCaseScopes?: boolean
  /** Whether answers tell them; `'exchange'`: the answer to a code only. @default true */
  readonly tellsScopes?: boolean | 'exchange'
  /** Scopes that are never granted. @default [] */
  readonly withheldScopes?: readonly string[]
  /** Scopes that are granted unasked. @default [] */
  readonly addedScopes?: readonly string[]
  /** Where the tokens stand in the answer to a code, such as `authed_user`. @default the answer itself */
  readonly tokenResponsePath?: string
  /** Whether they stand there in the answer to a refresh, too. @default true */
  readonly nestsRefresh?: boolean
  /** Further members of answers with tokens. @default {} */
  readonly extraMembers?: Readonly<Record<string, unknown>>
  /** @default 'Bearer' */
  readonly tokenType?: string
  /** How long access tokens live, in seconds. @default 3600 */
  readonly accessTokenTtlSeconds?: number
  /** Whether answers tell it. @default true */
  readonly tellsExpiry?: boolean
  /**
   * `'single-use'`: each refresh gives a new refresh token, and one that comes again ends the grant. `'renewed'`: the old ones stay valid.
   * `'lasting'`: the same for ever; `'silent'`: so too, and no refresh repeats it. @default 'single-use'
   */
  readonly refreshTokens?: 'single-use' | 'renewed' | 'lasting' | 'silent' | 'none'
  /** Parameters of the authorization request without which no refresh token comes, such as `{ access_type: 'offline' }`. @default {} */
  readonly offlineParameters?: Readonly<Record<string, string>>
  /** The scope without which no refresh token comes, such as `offline_access`. @default none */
  readonly offlineScope?: string
  /** Status of what the token endpoint refuses. @default 400 */
  readonly errorStatus?: number
  /** Its codes for a grant that is gone and for a client that it does not know. @default { dead: 'invalid_grant', misregistered: 'invalid_client' } */
  readonly errorCodes?: { readonly dead?: string, readonly misregistered?: string }
  /** Where in the answer the code stands. @default 'error' */
  readonly errorMember?: string
  /** Further members of refusals, such as `{ ok: false }`. @default {} */
  readonly errorMembers?: Readonly<Record<string, unknown>>
  /** What `Retry-After` says, in seconds. @default 1 */
  readonly retryAfterSeconds?: number
  /** Who signs in. @default { subject: 'alice', label: 'alice@example.com' } */
  readonly account?: FakeAccount
  /** Where the identity stands, as dotted paths; `in` the answer with the tokens, or at an address of its own. @default { in: 'endpoint', subject: 'sub', label: 'email' } */
  readonly identity?: FakeIdentity
  /** Scopes of which one must be granted for the identity at an address of its own. @default none */
  readonly identityScopes?: readonly string[]
  /** Whether `iss` stands in authorization responses (RFC 9207). @default true */
  readonly namesIssuer?: boolean
  /** What the metadata list. @default none */
  readonly scopesSupported?: readonly string[]
  /** Whether there are metadata. @default true */
  readonly metadata?: boolean
  /** Paths of the endpoints. @default { authorization: '/authorize', token: '/token', refresh: the same, revocation: '/revoke', identity: '/userinfo', api: '/api' } */
  readonly paths?: Partial<FakePaths>
  /** The way of revocation: RFC 7009, which authenticates the client; one by the access token as bearer, or in a JSON body; or none. @default 'rfc7009' */
  readonly revocation?: 'rfc7009' | 'bearer' | 'json' | 'none'
  /** Epoch milliseconds. @default Date.now */
  readonly now?: () => number
}

/** An account at a fake provider. */
export interface FakeAccount {
  readonly subject: string | number
  readonly label?: string
}

export interface FakeIdentity {
  readonly in: 'endpoint' | 'token response'
  readonly method?: 'GET' | 'POST'
  readonly subject: string
  readonly label?: string
}

export interface FakePaths {
  readonly authorization: string
  readonly token: string
  /** Where tokens are refreshed; the token endpoint does not refresh if this is another. */
  readonly refresh: string
  readonly revocation: string
  readonly identity: string
  readonly api: string
}

/** All of the ways. */
export type Ways = Required<Omit<FakeQuirks, 'clientAuthentication' | 'tokenRequestFormat' | 'redirectUris' | 'tokenResponsePath' | 'offlineScope' | 'identityScopes' | 'scopesSupported' | 'paths' | 'errorCodes'>> &
  Pick<FakeQuirks, 'clientAuthentication' | 'tokenRequestFormat' | 'redirectUris' | 'tokenResponsePath' | 'offlineScope' | 'identityScopes' | 'scopesSupported'> &
  { readonly paths: FakePaths, readonly errorCodes: { readonly dead: string, readonly misregistered: string } }

const USUAL = {
  clientId: 'client',
  clientSecret: 'secret',
  decodesCredentials: true,
  pkce: 'required',
  requiredParameters: {},
  requiredHeaders: {},
  scopeParameter: 'scope',
  requestScopeSeparator: ' ',
  scopeSeparator: ' ',
  scopeNames: {},
  lowerCaseScopes: false,
  tellsScopes: true,
  withheldScopes: [],
  addedScopes: [],
  nestsRefresh: true,
  extraMembers: {},
  tokenType: 'Bearer',
  accessTokenTtlSeconds: 3600,
  tellsExpiry: true,
  refreshTokens: 'single-use',
  offlineParameters: {},
  errorStatus: 400,
  errorMember: 'error',
  errorMembers: {},
  retryAfterSeconds: 1,
  account: { subject: 'alice', label: 'alice@example.com' },
  identity: { in: 'endpoint', subject: 'sub', label: 'email' },
  namesIssuer: true,
  metadata: true,
  revocation: 'rfc7009',
  now: Date.now
} as const

export function resolveQuirks ({ paths = {}, errorCodes = {}, ...quirks }: FakeQuirks): Ways {
  const token = paths.token ?? '/token'
  return {
    ...USUAL,
    ...quirks,
    errorCodes: { dead: 'invalid_grant', misregistered: 'invalid_client', ...errorCodes },
    paths: { authorization: '/authorize', token, refresh: token, revocation: '/revoke', identity: '/userinfo', api: '/api', ...paths }
  }
}
