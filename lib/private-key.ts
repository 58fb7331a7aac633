import { createPrivateKey, KeyObject } from 'node:crypto'
import { z } from 'zod'
import type { CheckedKey, SigningAlgorithm } from './client-registration.js'

/*
 * The schema of a private key that this server authenticates with (RFC 7523).
 */

const MISSING = 'is missing: is its environment variable set? For a client without a key leave it out'
const SHAPE = 'must be a private JWK, such as JSON.parse(process.env.ACME_KEY); a PEM is made into one with { key: createPrivateKey(pem), kid }, of node:crypto'
const SYMMETRIC = 'is a symmetric key, which the authorization server would have to know too; take a private one, or give it as clientSecret'
const PUBLIC = 'is a public key, which is what the authorization server is given; take the private one'
const UNREADABLE = 'cannot be read as a private key: is it whole, and of RSA or EC?'
const UNSUPPORTED = 'must be of RSA, or of EC with P-256, P-384 or P-521'
const SHORT = 'is too short: RSA keys have 2048 bits or more'
const NOT_SIGNING = 'is not for signatures (its use); take one that is'

const RSA: readonly SigningAlgorithm[] = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']
const CURVES = new Map<string, SigningAlgorithm>([['prime256v1', 'ES256'], ['secp384r1', 'ES384'], ['secp521r1', 'ES512']])
const MIN_RSA_BITS = 2048

export const privateKeySchema = z.unknown().transform((value, context): CheckedKey => {
  const result = readPrivateKey(value)
  if (typeof result !== 'string') return result
  context.addIssue(result)
  return z.NEVER
})

/** @returns what is wrong, in words that hold nothing of the key */
function readPrivateKey (value: unknown): CheckedKey | string {
  if (value === undefined) return MISSING
  if (typeof value !== 'object' || value === null) return SHAPE
  const { kid, alg, use } = value as Readonly<Record<string, unknown>>
  if (kid !== undefined && (typeof kid !== 'string' || kid === '')) return 'has a kid that is no text'
  if (use !== undefined && use !== 'sig') return NOT_SIGNING
  const key = readKey(value as Readonly<Record<string, unknown>>)
  if (typeof key === 'string') return key
  const algorithms = algorithmsOf(key)
  if (typeof algorithms === 'string') return algorithms
  const chosen = algorithms.find(one => one === (alg ?? algorithms[0]))
  if (chosen === undefined) return `has an alg that is none of this key: ${algorithms.join(', ')}`
  return Object.freeze({ key, alg: chosen, ...kid !== undefined && { kid } })
}

function readKey (value: Readonly<Record<string, unknown>>): KeyObject | string {
  const { key, kty, d } = value
  if (value instanceof KeyObject) return SHAPE
  if (key instanceof KeyObject) return { private: key, public: PUBLIC, secret: SYMMETRIC }[key.type]
  if (typeof kty !== 'string') return SHAPE
  if (kty === 'oct') return SYMMETRIC
  if (d === undefined) return PUBLIC
  try {
    return createPrivateKey({ key: value as Record<string, string>, format: 'jwk' })
  } catch {
    return UNREADABLE                            // its error may say what it has read
  }
}

function algorithmsOf ({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): readonly SigningAlgorithm[] | string {
  if (type === 'rsa') return details!.modulusLength! < MIN_RSA_BITS ? SHORT : RSA
  const algorithm = type === 'ec' ? CURVES.get(String(details!.namedCurve)) : undefined
  return algorithm === undefined ? UNSUPPORTED : [algorithm]
}
