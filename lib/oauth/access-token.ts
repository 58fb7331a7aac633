import { createRemoteJWKSet, customFetch, errors, jwtVerify, type JWTVerifyGetKey } from 'jose'
import { ProviderMisconfiguredError, ProviderUnavailableError } from '../errors.js'
import type { allowLoopbackHttp } from '../loopback.js'
import type { Claims, Registration } from '../types.js'
import { createConfigurations, type Configuration } from './configuration.js'
import { describeProvider, failureReason } from './failure.js'
import { createOutboundFetch } from './outbound.js'

/** Clocks of servers differ, by less than this. */
const CLOCK_TOLERANCE_S = 30

type Reach = Pick<Registration, 'privateHosts' | typeof allowLoopbackHttp>

/** An access token that was not taken. The reason is of fixed words and configuration, and so safe to log. */
export class TokenRefusedError extends Error {
  constructor (readonly reason: string) {
    super(reason)
  }
}

/** Whose access tokens are taken. */
export interface TokenPolicy extends Reach {
  readonly issuer: string
  /** The audience. */
  readonly resource: string
  /** Where the keys are, if the issuer's metadata need not be asked. */
  readonly jwksUri?: string | undefined
}

/**
 * Makes what verifies access tokens that are JWTs (RFC 9068 section 4): signature, issuer, audience, expiry and `sub`. A verifier throws
 * TokenRefusedError; FST_MCP_CONNECT_PROVIDER_UNAVAILABLE when the keys cannot be had, and FST_MCP_CONNECT_PROVIDER_MISCONFIGURED
 * when the issuer's metadata cannot be used.
 */
export function createTokenVerifier (policy: TokenPolicy): (token: string) => Promise<Claims> {
  const { issuer, resource, jwksUri } = policy
  const registration: Registration = {
    ...policy, name: 'the authorization server', clientId: 'none', clientAuthentication: 'client_secret_basic', scopes: [], authorizationParameters: {}, assumesS256: true
  }
  const name = describeProvider(registration)
  const configurations = createConfigurations()
  const pinned = jwksUri === undefined ? undefined : keysAt(jwksUri, policy)

  async function discoverKeys (): Promise<JWTVerifyGetKey> {
    const configuration = await configurations(registration)
    const { jwks_uri: found } = configuration.serverMetadata()
    if (found === undefined) throw new ProviderMisconfiguredError(name, 'there is no jwks_uri; set auth.jwksUri')
    return keysOf(configuration, found, policy)
  }

  return async token => {
    const keys = pinned ?? await discoverKeys()
    try {
      return await verifyJwt(token, async (header, input) => {
        if (!isAccessToken(header)) throw new TokenRefusedError('its typ is of another kind of token')
        try {
          return await keys(header, input)
        } catch (error) {
          throw isOfToken(error) ? error : new ProviderUnavailableError(name, `the keys: ${describeKeyError(error)}`)
        }
      }, issuer, resource, ['exp', 'sub'])
    } catch (error) {
      if (error instanceof ProviderUnavailableError || error instanceof TokenRefusedError) throw error
      throw new TokenRefusedError(explain(error, { iss: `${issuer} (auth.issuer)`, aud: `${resource} (auth.resource)` }))
    }
  }
}

/** What is of a kind of its own says so, as logout tokens and proofs do (RFC 8725 section 3.11). Many servers give access tokens none, or that of any JWT. */
function isAccessToken ({ typ = 'JWT' }: { readonly typ?: unknown }): boolean {
  return typeof typ === 'string' && /^(application\/)?(at\+)?jwt$/i.test(typ)
}

/** Verifies a JWT of an issuer for a resource. */
export async function verifyJwt (token: string, keys: JWTVerifyGetKey, issuer: string, audience: string, requiredClaims: string[]): Promise<Claims> {
  const { payload } = await jwtVerify(token, keys, { issuer, audience, clockTolerance: CLOCK_TOLERANCE_S, requiredClaims })
  return payload
}

const known = new WeakMap<Configuration, JWTVerifyGetKey>()

/** The keys of an authorization server, which are fetched when they are first needed. */
export function keysOf (configuration: Configuration, jwksUri: string, reach: Reach): JWTVerifyGetKey {
  const keys = known.get(configuration) ?? keysAt(jwksUri, reach)
  known.set(configuration, keys)
  return keys
}

function keysAt (jwksUri: string, reach: Reach): JWTVerifyGetKey {
  const outboundFetch = createOutboundFetch(reach)
  return createRemoteJWKSet(new URL(jwksUri), {
    async [customFetch] (...request) {
      const response = await outboundFetch(...request)
      if (response.status !== 200) throw new UnexpectedStatusError(response.status)
      return response
    }
  })
}

/** Where keys should be, there is something else. */
class UnexpectedStatusError extends Error {
  constructor (status: number) {
    super(`answered ${status}`)
  }
}

/** Whether no key was found since the token names none that there is; otherwise there were no keys to look at. */
function isOfToken (error: unknown): boolean {
  return [errors.JWKSNoMatchingKey, errors.JWKSMultipleMatchingKeys, errors.JOSENotSupported].some(Class => error instanceof Class)
}

function describeKeyError (error: unknown): string {
  if (error instanceof UnexpectedStatusError) return error.message
  return error instanceof errors.JOSEError ? error.code : failureReason(error)
}

/** @param expected what is configured, by claim */
function explain (error: unknown, expected: Readonly<Record<string, string>>): string {
  if (error instanceof errors.JWTExpired) return 'it has expired'
  if (error instanceof errors.JWTClaimValidationFailed) return `its ${error.claim} is not ${expected[error.claim] ?? 'what it must be'}`
  return error instanceof errors.JOSEError ? error.code : 'it is malformed'
}
