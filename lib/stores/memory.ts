import { EventEmitter } from 'node:events'
import type { Store, Stored } from '../types.js'

interface Entry extends Stored {
  readonly expiresAt: number
}

const SWEEP_INTERVAL_MS = 1000
const SWEEP_SLICE = 10_000

/**
 * Keeps everything in this process: for development, tests, and servers that may forget. What it holds is lost when
 * the process ends, and other processes do not see it.
 */
export function memoryStore (): Store {
  const owners = new Map<string, Map<string, Stored>>()
  const records = new Map<string, Entry>()
  const windows = new Map<string, { count: number, endsAt: number }>()
  const messages = new EventEmitter().setMaxListeners(0)
  let revisions = 0
  const nextRevision = (): string => String(++revisions)

  const liveRecord = (key: string): Entry | undefined => {
    const entry = records.get(key)
    if (entry === undefined || entry.expiresAt > Date.now()) return entry
    records.delete(key)
  }

  const sweeps = [createSweep(records, ({ expiresAt }) => expiresAt), createSweep(windows, ({ endsAt }) => endsAt)]
  const sweeper = setInterval(() => { for (const sweep of sweeps) sweep() }, SWEEP_INTERVAL_MS).unref()

  return {
    vault: {
      async get (owner, name) {
        return owners.get(owner)?.get(name) ?? null
      },
      async put (owner, name, value, expected) {
        const entries = owners.get(owner) ?? new Map<string, Stored>()
        if ((entries.get(name)?.revision ?? null) !== expected) return null
        const revision = nextRevision()
        entries.set(name, { value, revision })
        owners.set(owner, entries)
        return revision
      },
      async delete (owner, name, expected) {
        const entries = owners.get(owner)
        if (entries?.get(name)?.revision !== expected) return false
        entries.delete(name)
        if (entries.size === 0) owners.delete(owner)
        return true
      },
      async list ({ owner, cursor, limit }) {
        const all = [...owners].filter(([key]) => owner === undefined || key === owner)
          .flatMap(([key, entries]) => [...entries.keys()].map(name => ({ owner: key, name })))
          .sort((a, b) => position(a) < position(b) ? -1 : 1)
        const rest = cursor === undefined ? all : all.filter(entry => position(entry) > cursor)
        const entries = rest.slice(0, limit)
        return { entries, cursor: rest.length > limit ? position(entries.at(-1)!) : null }
      }
    },

    state: {
      async get (key) {
        const entry = liveRecord(key)
        return entry === undefined ? null : { value: entry.value, revision: entry.revision }
      },
      async put (key, value, expected, ttlMs) {
        const entry = liveRecord(key)
        if ((entry?.revision ?? null) !== expected) return null
        const revision = nextRevision()
        const expiresAt = ttlMs === undefined ? entry?.expiresAt ?? Infinity : Date.now() + ttlMs
        records.set(key, { value, revision, expiresAt })
        return revision
      },
      async delete (key, expected) {
        return liveRecord(key)?.revision === expected && records.delete(key)
      },
      async count (key, windowMs) {
        const now = Date.now()
        const current = windows.get(key)
        const window = current !== undefined && current.endsAt > now ? current : { count: 0, endsAt: now + windowMs }
        window.count++
        windows.set(key, window)
        return { count: window.count, resetMs: window.endsAt - now }
      }
    },

    bus: {
      async publish (message) {
        messages.emit('message', message)
      },
      async subscribe (listener) {
        messages.on('message', listener)
        return async () => { messages.off('message', listener) }
      }
    },

    async close () {
      clearInterval(sweeper)
      messages.removeAllListeners()
    }
  }
}

/** Removes what has expired, a slice at a time, so that a large map does not stop the event loop. */
function createSweep<T> (entries: Map<string, T>, expiryOf: (entry: T) => number): () => void {
  let rest = entries.entries()
  return () => {
    const now = Date.now()
    for (let i = 0; i < SWEEP_SLICE; i++) {
      const { value, done } = rest.next()
      if (done === true) {
        rest = entries.entries()
        return
      }
      if (expiryOf(value[1]) <= now) entries.delete(value[0])
    }
  }
}

function position ({ owner, name }: { readonly owner: string, readonly name: string }): string {
  return owner + name
}
