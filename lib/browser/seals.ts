import { sealData, unsealData } from 'iron-session'
import { z } from 'zod'
import type { KeyRing } from '../vault/key-ring.js'

/** What a cookie of ours holds, sealed: nobody can read or change it, and no other cookie's value is taken for it. */
export interface Seals<T> {
  seal (data: T): Promise<string>
  /** @returns `null` for what is no seal of this purpose, of ours, or has expired */
  open (value: string | undefined): Promise<T | null>
}

/** @param purpose has a password of its own, and is said in the seal too: iron-session does not bind a seal to anything */
export function createSeals<T> (ring: KeyRing, purpose: string, lifetimeMs: number, schema: z.ZodType<T>): Seals<T> {
  const envelope = z.object({ purpose: z.literal(purpose), expiresAt: z.number(), data: schema })
  // iron-session seals with the highest number, and opens with any; the ring has the newest key first.
  const secrets = ring.derive(`${purpose} cookie`)
  const password = Object.fromEntries(secrets.map((secret, index) => [secrets.length - index, secret.toString('base64url')]))
  const options = { password, ttl: lifetimeMs / 1000 }

  return {
    seal: data => sealData({ purpose, expiresAt: Date.now() + lifetimeMs, data }, options),

    async open (value = '') {
      // It gives an empty object for some broken seals, and throws for others.
      const result = envelope.safeParse(await unsealData(value, options).catch(() => ({})))
      return result.success && result.data.expiresAt > Date.now() ? result.data.data : null
    }
  }
}
