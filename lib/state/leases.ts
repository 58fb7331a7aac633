import { randomToken } from '../random.js'
import { createRecords, type RecordServices } from './records.js'

/** Something that one process at a time may do. */
export interface Lease {
  /** Whether it is sure to last so long, by this process's own clock: whoever is slower must not begin. */
  lasts (ms: number): boolean
  /** Begins its lifetime anew. @returns `false` when it was lost */
  extend (): Promise<boolean>
  /** Gives it back, if it is still this one's. */
  release (): Promise<void>
}

/** Leases over the state store. One whose holder was killed ends by itself. */
export interface Leases {
  /** @param key a hash @returns `null` when somebody else holds it */
  take (key: string): Promise<Lease | null>
}

/** @param ttlMs how long a lease lives: whoever waits for a holder who was killed waits so long */
export function createLeases (kind: string, services: RecordServices, ttlMs: number): Leases {
  const records = createRecords<{ readonly holder: string }>(kind, services)
  return {
    async take (key) {
      const holder = randomToken()
      let takenAt = performance.now()
      let revision = await records.put(key, { holder }, null, ttlMs)
      if (revision === null) return null
      return {
        lasts: ms => takenAt + ttlMs - performance.now() > ms,

        async extend () {
          const now = performance.now()
          if (revision !== null) revision = await records.put(key, { holder }, revision, ttlMs)
          if (revision !== null) takenAt = now
          return revision !== null
        },

        async release () {
          if (revision !== null) await records.delete(key, revision)
        }
      }
    }
  }
}
