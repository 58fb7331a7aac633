import { hkdfSync } from 'node:crypto'

export interface RingKey {
  /** Names the key in sealed values, without telling anything about it. */
  readonly id: string
  readonly secret: Buffer
}

/** The configured keys: the first one seals, all of them open. */
export interface KeyRing {
  readonly newest: RingKey
  find (id: string): RingKey | undefined
  /** One derived secret per key, the newest first. A purpose has secrets of its own. */
  derive (purpose: string): readonly Buffer[]
}

/** @param secrets 32 bytes or more each, the newest first */
export function createKeyRing (secrets: readonly [Buffer, ...Buffer[]]): KeyRing {
  const keys = secrets.map(secret => ({ id: deriveKey(secret, '', 'key id').toString('hex', 0, 8), secret }))
  const byId = new Map(keys.map(key => [key.id, key]))
  return {
    newest: keys[0]!,
    find: id => byId.get(id),
    derive: purpose => keys.map(key => deriveKey(key.secret, '', purpose))
  }
}

/** HKDF-SHA256 (RFC 5869), 32 bytes. */
export function deriveKey (secret: Buffer, salt: Buffer | string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, salt, `fastify-mcp-connect ${purpose}`, 32))
}
