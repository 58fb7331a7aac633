import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { SealBrokenError } from '../errors.js'
import { encodeFields } from '../encoding.js'
import { deriveKey, type KeyRing } from './key-ring.js'

/**
 * Authenticated encryption of what is stored. The context (purpose, tenant, issuer, subject, ...) is not stored: a
 * sealed value opens in the context that it was sealed in, and in no other row, user or tenant.
 */
export interface Sealer {
  seal (plaintext: string, context: readonly string[]): string
  /** @throws FST_MCP_CONNECT_SEAL_BROKEN when the value was changed or moved, or its key is not in the ring */
  open (sealed: string, context: readonly string[]): string
  /**
   * Seals it anew with the newest key. @returns `null` when that has sealed it already
   * @throws FST_MCP_CONNECT_SEAL_BROKEN like `open`
   */
  reseal (sealed: string, context: readonly string[]): string | null
  /** Whether another key than the newest has sealed it. */
  isOutdated (sealed: string): boolean
  /** Names the key that sealed it, fit for messages. */
  keyIdOf (sealed: string): string
}

const VERSION = '1'
const CIPHER = 'aes-256-gcm'
const TAG = { authTagLength: 16 } as const     // Node takes shorter tags when this is not said

/** AES-256-GCM with a key of its own for each value: HKDF-SHA256 of the ring key and a random 32-byte salt. */
export function createSealer (ring: KeyRing): Sealer {
  const sealer: Sealer = {
    seal (plaintext, context) {
      const { id, secret } = ring.newest
      const salt = randomBytes(32)
      const nonce = randomBytes(12)
      const cipher = createCipheriv(CIPHER, deriveKey(secret, salt, 'seal'), nonce, TAG)
      cipher.setAAD(encodeFields([VERSION, id, ...context]))
      const ciphertext = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final()])
      const parts = [salt, nonce, ciphertext, cipher.getAuthTag()].map(part => part.toString('base64url'))
      return [VERSION, id, ...parts].join('.')
    },

    open (sealed, context) {
      const [version, id = '', ...parts] = sealed.split('.')
      const key = ring.find(id)
      const [salt, nonce, ciphertext, tag] = parts.map(part => Buffer.from(part, 'base64url'))
      if (version !== VERSION || key === undefined || parts.length !== 4 || !parts.every(isCanonical)) throw new SealBrokenError(printable(id))
      try {
        const decipher = createDecipheriv(CIPHER, deriveKey(key.secret, salt!, 'seal'), nonce!, TAG)
        decipher.setAAD(encodeFields([VERSION, id, ...context]))
        decipher.setAuthTag(tag!)
        // What update() gives is not authenticated until final() has returned.
        return Buffer.concat([decipher.update(ciphertext!), decipher.final()]).toString('utf8')
      } catch {
        throw new SealBrokenError(printable(id))
      }
    },

    reseal (sealed, context) {
      const plaintext = sealer.open(sealed, context)
      return sealer.isOutdated(sealed) ? sealer.seal(plaintext, context) : null
    },

    isOutdated: sealed => sealer.keyIdOf(sealed) !== ring.newest.id,

    keyIdOf: sealed => printable(sealed.split('.', 2)[1] ?? '')
  }
  return sealer
}

/** Node reads base64url with anything in between and behind. */
function isCanonical (part: string): boolean {
  return Buffer.from(part, 'base64url').toString('base64url') === part
}

/** A key id that may have been tampered with, fit for an error message. */
function printable (id: string): string {
  return /^[0-9a-f]{16}$/.test(id) ? id : 'of another form'
}
