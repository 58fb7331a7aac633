import { SealBrokenError } from '../errors.js'
import type { Revision, StateStore } from '../storage.js'
import type { Sealer } from '../vault/sealer.js'

export interface RecordServices {
  readonly state: Pick<StateStore, 'get' | 'put' | 'delete'>
  readonly sealer: Sealer
  /** Is told of rows that cannot be opened. */
  readonly onUnreadable?: (error: Error) => void
}

/** What was found: a record, with the revision that a change must name. Both are `null` when there is none. */
export interface Found<T> {
  /** Also `null` when the row cannot be opened, since its key was taken out or it was changed or moved: it counts as none, and can be written anew. */
  readonly record: T | null
  readonly revision: Revision | null
}

/** Sealed records of one kind, over the state store. Keys are hashes. */
export interface Records<T> {
  get (key: string): Promise<Found<T>>
  /**
   * @param expected the revision that must be there; `null` when there must be none
   * @param ttlMs lifetime from now on; omitted: the record keeps its expiry
   * @returns the new revision, or `null` when the race is lost
   */
  put (key: string, record: T, expected: Revision | null, ttlMs?: number): Promise<Revision | null>
  delete (key: string, expected: Revision): Promise<boolean>
}

export function createRecords<T> (kind: string, { state, sealer, onUnreadable }: RecordServices): Records<T> {
  const rowKey = (key: string): string => `${kind}:${key}`

  function open (key: string, value: string): T | null {
    try {
      return JSON.parse(sealer.open(value, [kind, key])) as T
    } catch (error) {
      if (!(error instanceof SealBrokenError)) throw error
      onUnreadable?.(error)
      return null
    }
  }

  return {
    async get (key) {
      const stored = await state.get(rowKey(key))
      return stored === null ? { record: null, revision: null } : { record: open(key, stored.value), revision: stored.revision }
    },
    put: (key, record, expected, ttlMs) => state.put(rowKey(key), sealer.seal(JSON.stringify(record), [kind, key]), expected, ttlMs),
    delete: (key, expected) => state.delete(rowKey(key), expected)
  }
}
