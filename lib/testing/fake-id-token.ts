import { createHash, generateKeyPair, sign, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'

const MODULUS_BITS = 2048
let pair: Promise<{ readonly publicKey: KeyObject, readonly privateKey: KeyObject }> | undefined

/** One key pair for all fake providers of a process: it takes a moment to make. */
async function keys (): Promise<{ readonly publicKey: KeyObject, readonly privateKey: KeyObject }> {
  pair ??= promisify(generateKeyPair)('rsa', { modulusLength: MODULUS_BITS })
  return await pair
}

/** The key set (RFC 7517) that id_tokens are signed with. */
export async function fakeKeySet (): Promise<{ readonly keys: readonly object[] }> {
  return { keys: [{ ...(await keys()).publicKey.export({ format: 'jwk' }), alg: 'RS256', use: 'sig', kid: 'fake' }] }
}

/** An id_token (OpenID Connect Core 1.0 section 2). */
export async function signIdToken (claims: Readonly<Record<string, unknown>>): Promise<string> {
  const parts = [{ alg: 'RS256', typ: 'JWT', kid: 'fake' }, claims].map(part => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  return `${parts}.${sign('RSA-SHA256', Buffer.from(parts), (await keys()).privateKey).toString('base64url')}`
}

/** Of an access token, for its id_token (OpenID Connect Core 1.0 section 3.1.3.6). */
export function tokenHash (accessToken: string): string {
  return createHash('sha256').update(accessToken).digest().subarray(0, 16).toString('base64url')
}
