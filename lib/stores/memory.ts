import type { Store, Stored } from '../storage.js'
import { markForgetful } from './forgetful.js'
import { createListeners } from './listeners.js'
import { afterCursor, pageOf, type Position } from './page.js'
import { createShards, shardOf } from './shards.js'
import { createSweeper } from './sweeper.js'

interface Expiring {
  readonly expiresAt: number
}

const SWEEP_SLICE = 5000

/**
 * Keeps everything in this process: for development, tests, and servers that may forget. What it holds is lost when
 * the process ends, and other processes do not see it.
 */
export function memoryStore (): Store {
  const owners = createShards<Map<string, Stored>>()
  const records = createShards<Stored & Expiring>()
  const windows = createShards<{ count: number } & Expiring>()
  const listeners = createListeners()
  let revisions = 0
  let swept = 0
  const nextRevision = (): string => String(++revisions)

  const sweeper = createSweeper(async () => {
    const now = Date.now()
    for (let seen = 0; seen < SWEEP_SLICE;) {
      seen += removeExpired(records[swept]!, now) + removeExpired(windows[swept]!, now)
      swept = (swept + 1) % records.length
      if (swept === 0) return false
    }
    return true
  })

  /** Those of one owner, in the order of names. */
  function positionsOf (owner: string, afterName: string): Position[] {
    const names = owners[shardOf(owner)]!.get(owner)?.keys() ?? []
    return [...names].filter(name => name > afterName).sort().map(name => ({ owner, name }))
  }

  /** Those of all owners, in an order that stays: by shard, and in there by owner and name. */
  function * positions (after: Position): Iterable<Position> {
    const first = shardOf(after.owner)
    for (let index = first; index < owners.length; index++) {
      const some = [...owners[index]!.keys()].filter(owner => index > first || owner >= after.owner).sort()
      for (const owner of some) yield * positionsOf(owner, owner === after.owner ? after.name : '')
    }
  }

  const store: Store = {
    vault: {
      async get (owner, name) {
        return owners[shardOf(owner)]!.get(owner)?.get(name) ?? null
      },
      async put (owner, name, value, expected) {
        const shard = owners[shardOf(owner)]!
        const entries = shard.get(owner) ?? new Map<string, Stored>()
        if ((entries.get(name)?.revision ?? null) !== expected) return null
        const revision = nextRevision()
        entries.set(name, { value, revision })
        shard.set(owner, entries)
        return revision
      },
      async delete (owner, name, expected) {
        const shard = owners[shardOf(owner)]!
        const entries = shard.get(owner)
        if (entries?.get(name)?.revision !== expected) return false
        entries.delete(name)
        if (entries.size === 0) shard.delete(owner)
        return true
      },
      async list ({ owner, cursor, limit }) {
        const after = afterCursor(cursor)
        const found: Position[] = []
        for (const position of owner === undefined ? positions(after) : positionsOf(owner, after.name)) {
          if (found.push(position) > limit) break
        }
        return pageOf(found, limit)
      }
    },

    state: {
      async get (key) {
        const entry = live(records[shardOf(key)]!.get(key))
        return entry === undefined ? null : { value: entry.value, revision: entry.revision }
      },
      async put (key, value, expected, ttlMs) {
        sweeper.start()
        const shard = records[shardOf(key)]!
        const entry = live(shard.get(key))
        if ((entry?.revision ?? null) !== expected) return null
        const revision = nextRevision()
        const expiresAt = ttlMs === undefined ? entry?.expiresAt ?? Infinity : Date.now() + ttlMs
        shard.set(key, { value, revision, expiresAt })
        return revision
      },
      async delete (key, expected) {
        const shard = records[shardOf(key)]!
        return live(shard.get(key))?.revision === expected && shard.delete(key)
      },
      async count (key, windowMs) {
        sweeper.start()
        const shard = windows[shardOf(key)]!
        const now = Date.now()
        const window = live(shard.get(key), now) ?? { count: 0, expiresAt: now + windowMs }
        window.count++
        shard.set(key, window)
        return { count: window.count, resetMs: window.expiresAt - now }
      }
    },

    bus: {
      async publish (message) {
        listeners.tell(message)
      },
      async subscribe (listener) {
        const end = listeners.add(listener)
        return async () => end()
      }
    },

    async close () {
      sweeper.close()
      listeners.clear()
    }
  }
  for (const part of [store.vault, store.state, store.bus]) markForgetful(part)
  return store
}

function live<T extends Expiring> (entry: T | undefined, now = Date.now()): T | undefined {
  return entry !== undefined && entry.expiresAt > now ? entry : undefined
}

/** @returns how many entries it has looked at */
function removeExpired (entries: Map<string, Expiring>, now: number): number {
  const { size } = entries
  for (const [key, entry] of entries) if (live(entry, now) === undefined) entries.delete(key)
  return size
}
