import { LOST, untilWon } from '../compare-and-set.js'
import { createRecords, type RecordServices } from './records.js'

/**
 * A number for each key that only grows. What is made remembers the generation of that moment; once a later one has begun,
 * it is out of date. The clocks of processes may differ, and jump, by less than the lifetime of the record: they matter
 * only for the first number after it has expired. Keys are hashes.
 */
export interface Generations {
  /** 0 when there is none. */
  current (key: string): Promise<number>
  /** The current one, which from now on is there for the record's lifetime: when it is not, it has been lost. */
  keep (key: string): Promise<number>
  /** Begins the next generation. @returns its number */
  begin (key: string): Promise<number>
}

/** @param ttlMs longer than anything lives that remembers a generation */
export function createGenerations (kind: string, services: RecordServices, ttlMs: number): Generations {
  const records = createRecords<{ readonly generation: number }>(kind, services)

  async function write (key: string, next: (generation: number | undefined) => number): Promise<number> {
    return await untilWon(async () => {
      const { record, revision } = await records.get(key)
      const generation = next(record?.generation)
      return await records.put(key, { generation }, revision, ttlMs) === null ? LOST : generation
    })
  }

  return {
    async current (key) {
      return (await records.get(key)).record?.generation ?? 0
    },

    keep: key => write(key, generation => generation ?? Date.now()),
    // It starts with the time of day, so that a record that has expired does not begin again with old numbers.
    begin: key => write(key, (generation = 0) => Math.max(Date.now(), generation + 1))
  }
}
