import { createRemoteJWKSet, customFetch, jwtVerify } from 'jose'
import * as client from 'openid-client'
import { ExchangeFailedError } from '../errors.js'
import { allowLoopbackHttp } from '../loopback.js'
import { plainText } from '../plain-text.js'
import type { Claims, Registration } from '../types.js'
import type { Configuration } from './configuration.js'
import { describeProvider } from './failure.js'
import { createOutboundFetch } from './outbound.js'
import type { Tokens } from './token-request.js'

const MAX_LABEL_LENGTH = 100

/** What people are called in OpenID Connect Core 1.0 section 5.1, the most telling first. */
const LABELS = ['email', 'preferred_username', 'name'] as const

/** How an account is named to people, if its claims say so. */
export function readLabel (claims: Claims): string | undefined {
  return LABELS.map(name => claims[name]).filter(value => typeof value === 'string')
    .map(value => plainText(value, MAX_LABEL_LENGTH)).find(label => label !== '')
}

/**
 * The claims of the user who has signed in: those of the id_token, or of the access token for `resource` (RFC 9068).
 * @throws FST_MCP_CONNECT_EXCHANGE_FAILED when that is no JWT of this issuer for this resource
 */
export async function readUserClaims (configuration: Configuration, registration: Registration, tokens: Tokens): Promise<Claims> {
  const { resource } = registration
  if (resource === undefined) return tokens.claims()!
  const { issuer, jwks_uri: jwksUri } = configuration.serverMetadata()
  const refuse = (reason: string): Error => new ExchangeFailedError(describeProvider(registration), `the access token for ${resource} ${reason}`)
  if (jwksUri === undefined) throw refuse('cannot be verified: the metadata has no jwks_uri')
  const keys = createRemoteJWKSet(new URL(jwksUri), { [customFetch]: createOutboundFetch(registration[allowLoopbackHttp] === true) })
  try {
    return (await jwtVerify(tokens.access_token, keys, { issuer, audience: resource })).payload
  } catch {
    throw refuse('is no JWT of this issuer for this audience')
  }
}

/** How the user is named to people: by the id_token, or else by the UserInfo endpoint (OpenID Connect Core 1.0 section 5.3), where it answers. */
export async function findLabel (configuration: Configuration, tokens: Tokens): Promise<string | undefined> {
  const claims = tokens.claims()!
  const label = readLabel(claims)
  if (label !== undefined || configuration.serverMetadata().userinfo_endpoint === undefined) return label
  return await client.fetchUserInfo(configuration, tokens.access_token, claims.sub).then(readLabel, () => undefined)
}
