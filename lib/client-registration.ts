import type { JsonWebKey, KeyObject } from 'node:crypto'
import type { allowLoopbackHttp } from './loopback.js'

/** How a client tells an authorization server who it is (RFC 6749 section 2.3, OpenID Connect Core 1.0 section 9). */
export type ClientAuthentication = 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt'

/** How assertions are signed (RFC 7518 section 3.1). */
export type SigningAlgorithm = 'RS256' | 'RS384' | 'RS512' | 'PS256' | 'PS384' | 'PS512' | 'ES256' | 'ES384' | 'ES512'

/** A private key that is no text, so that no log and no JSON shows it. */
export interface ClientKey {
  /** What `createPrivateKey` of `node:crypto` makes: RSA of 2048 bits or more, or EC with P-256, P-384 or P-521. */
  readonly key: KeyObject
  /** By this the authorization server tells the public key among those that are registered there. */
  readonly kid?: string
  /** @default 'RS256' for RSA, the one of its curve for EC */
  readonly alg?: SigningAlgorithm
}

/** A private key that was checked. */
export type CheckedKey = ClientKey & Required<Pick<ClientKey, 'alg'>>

/** This server's registration as a client, with what it authenticates with; without either a public client. */
export interface ClientRegistration {
  readonly clientId: string
  /** Absent for a public client, and where there is a `privateKey`. */
  readonly clientSecret?: string
  /**
   * Signs what this server authenticates with, in place of a secret (RFC 7523): a private JWK, such as
   * `JSON.parse(process.env.ACME_KEY)`, or `{ key: createPrivateKey(pem), kid }`.
   */
  readonly privateKey?: JsonWebKey | ClientKey
  /** How the client authenticates. @default 'client_secret_basic', with a `privateKey` 'private_key_jwt' */
  readonly clientAuthentication?: ClientAuthentication
}

/** A registration at an authorization server. */
export interface RegistrationOptions extends ClientRegistration {
  /** The issuer identifier (RFC 8414). Authorization responses that name another `iss` are refused (RFC 9207). */
  readonly issuer: string
  /** Further parameters of the authorization request. @default {} */
  readonly authorizationParameters?: Readonly<Record<string, string>>
  /**
   * Hosts, as in `login.corp.example`, that may have addresses of a private network. All others must have public ones: requests to the
   * authorization server go nowhere else, wherever its metadata or its name lead. @default []
   */
  readonly privateHosts?: readonly string[]
  /** Unsafe: lets `http:` addresses through that lead to this machine. For development and tests. */
  readonly [allowLoopbackHttp]?: boolean
}

/** Sign-in at this server's own authorization server (OpenID Connect Core 1.0), as a web client that is registered there. */
export interface OidcLoginOptions extends RegistrationOptions {
  /** What is asked for; `openid` always is. @default ['openid', 'profile', 'email'] */
  readonly scopes?: readonly string[]
  /**
   * Asks for an access token for this resource (RFC 8707), and takes the claims for `principal` from it (RFC 9068) instead of the
   * id_token. For authorization servers that name users differently in the two: give the resource that MCP clients ask for.
   */
  readonly resource?: string
  /** How long a browser session lives that nobody uses: a minute to a day. @default 1800000 (30 minutes) */
  readonly idleTtlMs?: number
  /** How long a browser session lives at most: a minute to 30 days. @default 28800000 (8 hours) */
  readonly absoluteTtlMs?: number
}

/** A checked and complete login, for the option `browser`. */
export interface OidcLogin extends Required<Omit<OidcLoginOptions, 'clientSecret' | 'privateKey' | 'resource' | typeof allowLoopbackHttp>>,
  Pick<OidcLoginOptions, 'clientSecret' | 'resource' | typeof allowLoopbackHttp> {
  readonly privateKey?: CheckedKey
  readonly kind: 'oidc login'
}
