import type { Revision, StateStore } from '../types.js'
import type { Sealer } from '../vault/sealer.js'

/** A record as it was read, with the revision that a change must name. */
export interface Found<T> {
  readonly record: T
  readonly revision: Revision
}

/** Records of one kind, sealed, over the state store. Keys are hashes. */
export interface Records<T> {
  get (key: string): Promise<Found<T> | null>
  /** @returns `false` when the race is lost: another revision than `expected` is there (`null`: any) */
  put (key: string, record: T, expected: Revision | null, ttlMs?: number): Promise<boolean>
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
    async put (key, record, expected, ttlMs) {
      return await state.put(rowKey(key), sealer.seal(JSON.stringify(record), [kind, key]), expected, ttlMs) !== null
    },
    delete: (key, expected) => state.delete(rowKey(key), expected)
  }
}
