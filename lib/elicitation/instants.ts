import { LOST, untilWon } from '../compare-and-set.js'
import { hashConnection } from '../principal.js'
import type { Principal, StateStore } from '../types.js'
import type { Sealer } from '../vault/sealer.js'
import { createRecords } from './records.js'

/** When something last happened between a principal and a provider. */
export interface Instants {
  /** It happens now. @returns epoch milliseconds, later than any time before */
  record (principal: Principal, provider: string): Promise<number>
  /** @returns epoch milliseconds; 0 when it never happened, or longer ago than is remembered */
  last (principal: Principal, provider: string): Promise<number>
}

/** @param ttlMs how long an instant is remembered */
export function createInstants (kind: string, { state, sealer }: { state: StateStore, sealer: Sealer }, ttlMs: number): Instants {
  const records = createRecords<{ readonly at: number }>(kind, state, sealer)
  return {
    async record (principal, provider) {
      const key = hashConnection(principal, provider)
      return await untilWon(async () => {
        const found = await records.get(key)
        const at = after(found?.record.at ?? 0)
        return await records.put(key, { at }, found?.revision ?? null, ttlMs) === null ? LOST : at
      })
    },

    async last (principal, provider) {
      return (await records.get(hashConnection(principal, provider)))?.record.at ?? 0
    }
  }
}

/** Now; but later than the given instant, even if that was recorded by a process whose clock is ahead. */
export function after (instant: number): number {
  return Math.max(Date.now(), instant + 1)
}
