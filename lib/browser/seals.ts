import { sealData, unsealData } from 'iron-session'
import { z } from 'zod'
import type { KeyRing } from '../vault/key-ring.js'

/** What a cookie of ours holds, sealed: nobody can read or change it, and no other cookie's value is taken for it. */
export interface Seals<T> {
  seal (data: T): Promise<string>
  /** @returns `null` for what is no seal of this purpose, of ours, or has expired */
  open (value: string | undefined): Promise<T | null>
}

/** @param purpose has passwords of its own, and also stands inside the seal: iron-session does not bind a seal to anything */
export function createSeals<T> (ring: KeyRing, purpose: string, lifetimeMs: number, schema: z.ZodType<T>): Seals<T> {
  const envelope = z.object({ purpose: z.literal(purpose), expiresAt: z.number(), data: schema })
  // Each by itself, not as iron-session's numbered map: while a key is replaced, its number differs between processes.
  const passwords = ring.derive(`${purpose} cookie`).map(secret => secret.toString('base64url'))
  const ttl = lifetimeMs / 1000

  async function openWith (password: string, value: string): Promise<T | null> {
    // It gives an empty object for some broken seals, and throws for others.
    const result = envelope.safeParse(await unsealData(value, { password, ttl }).catch(() => ({})))
    return result.success && result.data.expiresAt > Date.now() ? result.data.data : null
  }

  return {
    seal: data => sealData({ purpose, expiresAt: Date.now() + lifetimeMs, data }, { password: passwords[0]!, ttl }),

    async open (value = '') {
      for (const password of passwords) {
        const data = await openWith(password, value)
        if (data !== null) return data
      }
      return null
    }
  }
}
