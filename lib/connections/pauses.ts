import type { RefreshFailure } from '../audit-events.js'
import { LOST, untilWon } from '../compare-and-set.js'
import { createRecords, type RecordServices } from '../state/records.js'

/** For how long a provider is not asked, and why. */
export interface Pause {
  readonly kind: RefreshFailure
  readonly retryAfterMs: number
}

/** Who has failed is left alone for a while, by all processes. Keys are hashes. */
export interface Pauses {
  find (key: string): Promise<Pause | null>
  /** Each pause is twice as long as the one before, unless the provider has said how long. */
  begin (key: string, kind: RefreshFailure, retryAfterMs?: number): Promise<Pause>
  end (key: string): Promise<void>
}

interface Row {
  readonly kind: RefreshFailure
  readonly failures: number
  /** Epoch milliseconds. */
  readonly until: number
}

const FIRST_MS = 1000
const MAX_MS = 5 * 60_000
/** What an operator has to mend takes longer. */
const MISREGISTERED_MS = 60_000
/** How long failures are remembered beyond their pause. */
const MEMORY_MS = 10 * 60_000
/** No pause is longer, whatever the clocks of other processes say. */
const LONGEST_MS = 60 * 60_000

export function createPauses (services: RecordServices): Pauses {
  const records = createRecords<Row>('refresh-pause', services)

  function lengthOf (kind: RefreshFailure, failures: number): number {
    if (kind === 'misregistered') return MISREGISTERED_MS
    return Math.min(FIRST_MS * 2 ** failures, MAX_MS) * (0.75 + Math.random() / 4)
  }

  return {
    async find (key) {
      const { record } = await records.get(key)
      const restMs = (record?.until ?? 0) - Date.now()
      return record === null || restMs <= 0 || restMs > LONGEST_MS ? null : { kind: record.kind, retryAfterMs: restMs }
    },

    async begin (key, kind, retryAfterMs) {
      return await untilWon<Pause>(async () => {
        const { record, revision } = await records.get(key)
        const failures = record?.failures ?? 0
        const ms = Math.min(Math.max(retryAfterMs ?? 0, lengthOf(kind, failures)), LONGEST_MS)
        const row: Row = { kind, failures: failures + 1, until: Date.now() + ms }
        return await records.put(key, row, revision, Math.ceil(ms) + MEMORY_MS) === null ? LOST : { kind, retryAfterMs: ms }
      })
    },

    async end (key) {
      const { revision } = await records.get(key)
      if (revision !== null) await records.delete(key, revision)
    }
  }
}
