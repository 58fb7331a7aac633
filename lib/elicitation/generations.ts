import { LOST, untilWon } from '../compare-and-set.js'
import { hashConnection } from '../principal.js'
import type { Principal } from '../types.js'
import { createRecords, type RecordServices } from './records.js'

/**
 * A number for each principal and provider that only grows. What is made remembers the generation of that moment; once a
 * later one has begun, it is out of date. The clocks of processes may differ, and jump, by less than the lifetime of the
 * record: they matter only for the first number after it has expired.
 */
export interface Generations {
  /** 0 when there is none. */
  current (principal: Principal, provider: string): Promise<number>
  /** The current one, which from now on is there for the record's lifetime: when it is not, it has been lost. */
  keep (principal: Principal, provider: string): Promise<number>
  /** Begins the next generation. @returns its number */
  begin (principal: Principal, provider: string): Promise<number>
}

/** @param ttlMs longer than anything lives that remembers a generation */
export function createGenerations (kind: string, services: RecordServices, ttlMs: number): Generations {
  const records = createRecords<{ readonly generation: number }>(kind, services)

  async function write (principal: Principal, provider: string, next: (generation: number | undefined) => number): Promise<number> {
    const key = hashConnection(principal, provider)
    return await untilWon(async () => {
      const { record, revision } = await records.get(key)
      const generation = next(record?.generation)
      return await records.put(key, { generation }, revision, ttlMs) === null ? LOST : generation
    })
  }

  return {
    async current (principal, provider) {
      return (await records.get(hashConnection(principal, provider))).record?.generation ?? 0
    },

    keep: (principal, provider) => write(principal, provider, generation => generation ?? Date.now()),
    // It starts with the time of day, so that a record that has expired does not begin again with old numbers.
    begin: (principal, provider) => write(principal, provider, (generation = 0) => Math.max(Date.now(), generation + 1))
  }
}
