import { errors } from 'jose'
import * as client from 'openid-client'
import { ExchangeFailedError } from '../errors.js'
import { plainText } from '../plain-text.js'
import type { Claims, Registration } from '../types.js'
import { withTimeout } from '../with-timeout.js'
import { keysOf, verifyJwt } from './access-token.js'
import type { Configuration } from './configuration.js'
import { describeProvider } from './failure.js'
import type { Tokens } from './token-request.js'

export const MAX_LABEL_LENGTH = 100
/** Nobody waits longer for a mere name. */
const USER_INFO_TIMEOUT_MS = 3000

/** What people are called in OpenID Connect Core 1.0 section 5.1, the most telling first. */
const LABELS = ['email', 'preferred_username', 'name'] as const

/** How an account is named to people, if its claims say so. */
export function readLabel (claims: Claims): string | undefined {
  const { email, email_verified: verified } = claims
  // Some servers leave it out, and some send a text.
  const unverified = verified === false || verified === 'false' ? email : undefined
  return LABELS.map(name => claims[name]).filter(value => typeof value === 'string' && value !== unverified)
    .map(value => plainText(String(value), MAX_LABEL_LENGTH)).find(label => label !== '')
}

/**
 * Who has signed in: by the id_token, or by the access token for `resource` (RFC 9068). The label is that of the id_token, of that
 * access token, or of the UserInfo endpoint (OpenID Connect Core 1.0 section 5.3), which takes access tokens for itself alone.
 * @throws FST_MCP_CONNECT_EXCHANGE_FAILED when the access token is no JWT of this issuer for this resource
 */
export async function readUser (configuration: Configuration, registration: Registration, tokens: Tokens):
Promise<{ readonly claims: Claims, readonly label: string | undefined }> {
  const idToken = tokens.claims()!
  const label = readLabel(idToken)
  if (registration.resource !== undefined) {
    const claims = await readAccessToken(configuration, registration, registration.resource, tokens.access_token)
    return { claims, label: readLabel(claims) ?? label }
  }
  return { claims: idToken, label: label ?? await labelAtUserInfo(configuration, tokens.access_token, idToken.sub) }
}

export async function labelAtUserInfo (configuration: Configuration, accessToken: string, subject: string): Promise<string | undefined> {
  if (configuration.serverMetadata().userinfo_endpoint === undefined) return undefined
  try {
    return readLabel(await withTimeout(client.fetchUserInfo(configuration, accessToken, subject), USER_INFO_TIMEOUT_MS))
  } catch {
    return undefined
  }
}

async function readAccessToken (configuration: Configuration, registration: Registration, resource: string, accessToken: string): Promise<Claims> {
  const { issuer, jwks_uri: jwksUri } = configuration.serverMetadata()
  const refuse = (reason: string): Error => new ExchangeFailedError(describeProvider(registration), `the access token for ${resource} cannot be used: ${reason}`)
  if (jwksUri === undefined) throw refuse('the metadata has no jwks_uri')
  try {
    return await verifyJwt(accessToken, keysOf(configuration, jwksUri, registration), issuer, resource, ['exp'])
  } catch (error) {
    if (error instanceof errors.JWTClaimValidationFailed) throw refuse(`its ${error.claim} is not what it must be`)
    throw refuse(error instanceof errors.JOSEError ? error.code : 'network_error')
  }
}
