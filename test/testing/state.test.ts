import { posix } from 'node:path'
import t from 'tap'
import { memoryStore, type StateStore } from '../../lib/index.js'
import { stateContract } from '../../lib/testing/index.js'
import { entryFaults, type EntryFault } from './broken-entries.js'
import { assertCaught, broken, pause, type Broken, type BrokenByCase } from './broken.js'

t.setTimeout(400_000)

const state = (faults: (good: StateStore) => Partial<StateStore>): Broken<StateStore> => broken('state', faults)

function entryState (fault: EntryFault): Broken<StateStore> {
  return () => {
    const good = memoryStore().state
    const open = fault(good)
    return () => ({ ...good, ...open() })
  }
}

const keyedBy = (change: (key: string) => string): Broken<StateStore> => state(good => ({
  get: async key => await good.get(change(key)),
  put: async (key, ...rest) => await good.put(change(key), ...rest),
  delete: async (key, expected) => await good.delete(change(key), expected)
}))

const living = (change: (ttlMs: number | undefined, expected: string | null) => number | undefined): Broken<StateStore> => state(good => ({
  put: async (key, value, expected, ttlMs) => await good.put(key, value, expected, change(ttlMs, expected))
}))

/** Rows stay, and tell when they end; which calls look at that? */
const lookedAtBy = (...calls: ReadonlyArray<'get' | 'create' | 'replace' | 'delete'>): Broken<StateStore> => state(good => {
  const ends = new Map<string, number>()
  const ended = (key: string, call: typeof calls[number]): boolean => calls.includes(call) && (ends.get(key) ?? Infinity) <= Date.now()
  return {
    get: async key => ended(key, 'get') ? null : await good.get(key),
    async put (key, value, expected, ttlMs) {
      const row = await good.get(key)
      const over = expected === null && row !== null && ended(key, 'create')
      if (expected !== null && ended(key, 'replace')) return null
      const revision = await good.put(key, value, over ? row.revision : expected)
      if (revision !== null && (ttlMs !== undefined || over)) ends.set(key, ttlMs === undefined ? Infinity : Date.now() + ttlMs)
      return revision
    },
    async delete (key, expected) {
      return !ended(key, 'delete') && await good.delete(key, expected)
    }
  }
})

/** As a column does that is only written when there is something to write. */
const lifetimesOfTheDead: Broken<StateStore> = state(good => {
  const lifetimes = new Map<string, number>()
  return {
    async put (key, value, expected, ttlMs) {
      if (ttlMs !== undefined) lifetimes.set(key, ttlMs)
      return await good.put(key, value, expected, ttlMs ?? (expected === null ? lifetimes.get(key) : undefined))
    }
  }
})

const sliding: Broken<StateStore> = state(good => {
  const lifetimes = new Map<string, number | undefined>()
  return {
    async put (key, value, expected, ttlMs) {
      if (ttlMs !== undefined || expected === null) lifetimes.set(key, ttlMs)
      return await good.put(key, value, expected, lifetimes.get(key))
    }
  }
})

/** Sets the lifetime in a call of its own, whether the put has won or not. */
const touching = (touches: (expected: string | null) => boolean): Broken<StateStore> => state(good => ({
  async put (key, value, expected, ttlMs) {
    const revision = await good.put(key, value, expected, ttlMs)
    const found = await good.get(key)
    if (revision === null && found !== null && ttlMs !== undefined && touches(expected)) await good.put(key, found.value, found.revision, ttlMs)
    return revision
  }
}))

const overwritesTheExpired: Broken<StateStore> = state(good => {
  const expiring = new Set<string>()
  return {
    async put (key, value, expected, ttlMs) {
      const old = expected === null && expiring.has(key) && await good.get(key) === null
      if (expected === null) expiring.add(key)
      if (!old) return await good.put(key, value, expected, ttlMs)
      await pause()
      return await good.put(key, value, (await good.get(key))?.revision ?? null, ttlMs)
    }
  }
})

const counted = (change: (result: { count: number, resetMs: number }, windowMs: number) => { count: number, resetMs: number }): Broken<StateStore> =>
  state(good => ({ count: async (key, windowMs) => change(await good.count(key, windowMs), windowMs) }))
const countedBy = (change: (key: string) => string): Broken<StateStore> => state(good => ({ count: async (key, windowMs) => await good.count(change(key), windowMs) }))

interface Window { readonly count: number, readonly endsAt: number }

/** Windows of its own. */
const windowed = (count: (windows: Map<string, Window>, key: string, windowMs: number) => Window | Promise<Window>): Broken<StateStore> => state(() => {
  const windows = new Map<string, Window>()
  return {
    async count (key, windowMs) {
      const window = await count(windows, key, windowMs)
      windows.set(key, window)
      return { count: window.count, resetMs: window.endsAt - Date.now() }
    }
  }
})
const begin = (windowMs: number): Window => ({ count: 1, endsAt: Date.now() + windowMs })
const next = (window: Window | undefined, windowMs: number): Window =>
  window === undefined || window.endsAt <= Date.now() ? begin(windowMs) : { ...window, count: window.count + 1 }

const table: BrokenByCase<StateStore> = {
  ...Object.fromEntries(Object.entries(entryFaults).map(([name, faults]) =>
    [name, Object.fromEntries(Object.entries(faults).map(([fault, make]) => [fault, entryState(make)]))])),

  'keys are told apart exactly, also case, spaces and Unicode forms': {
    'small letters': keyedBy(key => key.toLowerCase()),
    trimmed: keyedBy(key => key.trim()),
    'without trailing spaces': keyedBy(key => key.replace(/ +$/, '')),
    NFC: keyedBy(key => key.normalize('NFC')),
    NFKC: keyedBy(key => key.normalize('NFKC')),
    'cut at 255': keyedBy(key => key.slice(0, 255)),
    'cut at 511': keyedBy(key => key.slice(0, 511)),
    'decoded as URLs': keyedBy(key => { try { return decodeURIComponent(key) } catch { return key } }),
    'paths are resolved': keyedBy(key => posix.normalize(key)),
    'only what may stand in a file name': keyedBy(key => key.replace(/[^\w.-]/g, '_')),
    'in Latin-1': keyedBy(key => Buffer.from(key, 'latin1').toString('latin1')),
    'as a collation compares': keyedBy(key => key.normalize('NFD').replace(/\p{M}/gu, '').toUpperCase()),
    'without a hash after it': keyedBy(key => key.replace(/#.*/s, ''))
  },
  'an expired record is a missing one': {
    'records stay for ever': living(() => undefined),
    'lifetimes are read as seconds': living(ttlMs => ttlMs && ttlMs * 1000),
    'each record has fifteen minutes': living(() => 900_000),
    'get does not look': lookedAtBy('create', 'replace', 'delete'),
    'put with the old revision does not look': lookedAtBy('get', 'create', 'delete'),
    'delete does not look': lookedAtBy('get', 'create', 'replace'),
    'put without a revision does not look': lookedAtBy('get', 'replace', 'delete')
  },
  'of 50 that create over an expired record at once, one wins': {
    'it looks, and then writes': overwritesTheExpired,
    'an expired record is in the way': lookedAtBy('get', 'replace', 'delete')
  },
  'a put without a lifetime keeps the expiry': {
    'the expiry is lost': living((ttlMs, expected) => ttlMs ?? (expected === null ? undefined : 1e9)),
    'the same lifetime begins anew': sliding,
    'each record has a second': living(() => 1000)
  },
  'a put with a lifetime begins it anew': {
    'the first lifetime stays': living((ttlMs, expected) => expected === null ? ttlMs : undefined),
    'each record has a tenth of a second': living(() => 100)
  },
  'a put that loses does not touch the lifetime': {
    'each put with a lifetime begins it anew': touching(() => true),
    'a put without a revision makes it shorter': touching(expected => expected === null),
    'a put with another revision makes it shorter or longer': touching(expected => expected !== null)
  },
  'a record that was made without a lifetime stays, also in the place of one that had one': {
    'each record has a tenth of a second at first': living((ttlMs, expected) => ttlMs ?? (expected === null ? 100 : undefined)),
    'the lifetime of the one before': lifetimesOfTheDead
  },
  'count counts each event once, for each key by itself': {
    'it reads, and then writes': windowed(async (windows, key, windowMs) => { const window = windows.get(key); await pause(); return next(window, windowMs) }),
    'one counter for all keys': countedBy(() => 'key'),
    'keys in small letters': countedBy(key => key.toLowerCase()),
    'it counts from 0': counted(({ count, resetMs }) => ({ count: count - 1, resetMs })),
    'resetMs is an instant': counted(({ count, resetMs }) => ({ count, resetMs: Date.now() + resetMs }))
  },
  'a window starts with its first event and ends at its time, however many events there are in it': {
    'each event makes it longer': windowed((windows, key, windowMs) => ({ ...next(windows.get(key), windowMs), endsAt: Date.now() + windowMs })),
    'it never ends': windowed((windows, key, windowMs) => { const window = windows.get(key); return window === undefined ? begin(windowMs) : { ...window, count: window.count + 1, endsAt: Math.max(window.endsAt, Date.now() + 1) } }),
    'every window ends soon': windowed((windows, key) => next(windows.get(key), 100)),
    'resetMs is an instant': counted(({ count, resetMs }) => ({ count, resetMs: Date.now() + resetMs })),
    'resetMs is in seconds': counted(({ count, resetMs }) => ({ count, resetMs: resetMs / 1000 })),
    'resetMs is always the whole window': counted(({ count }, windowMs) => ({ count, resetMs: windowMs })),
    'a new window begins with 0': windowed((windows, key, windowMs) => { const window = windows.get(key); const now = next(window, windowMs); return window !== undefined && now.count === 1 && window.count > 1 ? { ...now, count: 0 } : now })
  },
  'of 50 events at once after a window has ended, each is counted once': {
    'it looks whether it has ended, and then begins anew': windowed(async (windows, key, windowMs) => {
      const ended = (windows.get(key)?.endsAt ?? Infinity) <= Date.now()
      if (ended) await pause()
      return ended ? begin(windowMs) : next(windows.get(key), windowMs)
    })
  },
  'a count is no record, and a record no count': {
    'one namespace for both': state(good => ({
      async count (key, windowMs) {
        for (;;) {
          const found = await good.get(key)
          const count = Number(found?.value ?? 0) + 1
          if (await good.put(key, String(count), found?.revision ?? null, found === null ? windowMs : undefined) !== null) return { count, resetMs: windowMs }
        }
      }
    })),
    'a record is in the way of a count': state(good => ({ async count (key, windowMs) { const result = await good.count(key, windowMs); return await good.get(key) === null ? result : { ...result, count: 1 } } }))
  }
}

t.test('each case of the state contract catches what it is there for', async t => {
  await assertCaught(t, stateContract, state(() => ({})), table)
})
