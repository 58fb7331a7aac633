export type Shards<T> = ReadonlyArray<Map<string, T>>

const COUNT = 4096

/** Many small maps instead of a large one, which would hold up the event loop each time it grows. */
export function createShards<T> (): Shards<T> {
  return Array.from({ length: COUNT }, () => new Map<string, T>())
}

/** The index of the map that a key belongs to; 0 for the empty string. */
export function shardOf (key: string): number {
  let hash = 0
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash, 31) + key.charCodeAt(i) | 0
  return hash & COUNT - 1
}
