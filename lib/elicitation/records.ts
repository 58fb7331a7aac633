import type { Revision, StateStore } from '../types.js'
import type { Sealer } from '../vault/sealer.js'

/** A record as it was read, with the revision that a change must name. */
export interface Found<T> {
  readonly record: T
  readonly revision: Revision
}

/** Sealed records of one kind, over the state store. Keys are hashes. */
export interface Records<T> {
  get (key: string): Promise<Found<T> | null>
  /**
   * @param expected the revision that must be there; `null` when there must be none
   * @param ttlMs lifetime from now on; omitted: the record keeps its expiry
   * @returns the new revision, or `null` when the race is lost
   */
  put (key: string, record: T, expected: Revision | null, ttlMs?: number): Promise<Revision | null>
  delete (key: string, expected: Revision): Promise<boolean>
}

export function createRecords<T> (kind: string, state: StateStore, sealer: Sealer): Records<T> {
  const rowKey = (key: string): string => `${kind}:${key}`
  return {
    async get (key) {
      const stored = await state.get(rowKey(key))
      if (stored === null) return null
      return { record: JSON.parse(sealer.open(stored.value, [kind, key])) as T, revision: stored.revision }
    },
    put: (key, record, expected, ttlMs) => state.put(rowKey(key), sealer.seal(JSON.stringify(record), [kind, key]), expected, ttlMs),
    delete: (key, expected) => state.delete(rowKey(key), expected)
  }
}
