import { createHash, randomUUID } from 'node:crypto'
import type { Revision, Stored } from '../../lib/index.js'
import { pause } from './broken.js'

/** What vaults and state stores have in common. */
export interface Entries {
  get (key: string): Promise<Stored | null>
  put (key: string, value: string, expected: Revision | null): Promise<Revision | null>
  delete (key: string, expected: Revision): Promise<boolean>
}

/** Is called for each storage; what it returns, for each adapter. */
export type EntryFault = (good: Entries) => () => Partial<Entries>

/** The same for all adapters of one storage. */
const shared = (fault: (good: Entries) => Partial<Entries>): EntryFault => good => {
  const faulty = fault(good)
  return () => faulty
}

const revisionAt = async (good: Entries, key: string): Promise<Revision | null> => (await good.get(key))?.revision ?? null

let writing: Promise<unknown> = Promise.resolve()

/** Writes whatever is there; one after the other, so that a thousand do not stand in each other's way. */
async function overwrite (good: Entries, key: string, value: string): Promise<Revision> {
  const written = writing.then(async () => {
    for (;;) {
      const revision = await good.put(key, value, await revisionAt(good, key))
      if (revision !== null) return revision
    }
  })
  writing = written
  return await written
}

const looksThenPuts = (good: Entries): Pick<Entries, 'put'> => ({
  async put (key, value, expected) {
    if (await revisionAt(good, key) !== expected) return null
    await pause()
    return await overwrite(good, key, value)
  }
})

const looksThenDeletes = (good: Entries): Pick<Entries, 'delete'> => ({
  async delete (key, expected) {
    if (await revisionAt(good, key) !== expected) return false
    await pause()
    const revision = await revisionAt(good, key)
    if (revision !== null) await good.delete(key, revision)
    return true
  }
})

/** One call after the other, but in one process alone. */
const lockedInEachProcess = (fault: (good: Entries) => Partial<Entries>): EntryFault => good => () => {
  let last: Promise<unknown> = Promise.resolve()
  const { put, delete: remove } = { ...good, ...fault(good) }
  const locked = <A extends unknown[], R>(call: (...args: A) => Promise<R>) => async (...args: A): Promise<R> => {
    const result = last.then(() => call(...args))
    last = result
    return await result
  }
  return { put: locked(put), delete: locked(remove) }
}

/** Remembers in each process what it has read. */
const cached = (remembers: (found: Stored | null) => boolean): EntryFault => good => () => {
  const cache = new Map<string, Stored | null>()
  return {
    async get (key) {
      const found = cache.has(key) ? cache.get(key)! : await good.get(key)
      if (remembers(found)) cache.set(key, found)
      return found
    }
  }
}

const revisedBy = (revise: (value: string, before: Stored | undefined) => Revision): EntryFault => shared(() => {
  const entries = new Map<string, Stored>()
  return {
    get: async key => entries.get(key) ?? null,
    async put (key, value, expected) {
      const before = entries.get(key)
      if ((before?.revision ?? null) !== expected) return null
      const revision = revise(value, before)
      entries.set(key, { value, revision })
      return revision
    },
    delete: async (key, expected) => entries.get(key)?.revision === expected && entries.delete(key)
  }
})

const valuesRead = (read: (value: string) => unknown): EntryFault => shared(good => ({
  async get (key) {
    const found = await good.get(key)
    return found && { ...found, value: read(found.value) as string }
  }
}))

const readAs = (read: (expected: Revision, there: Revision) => Revision): EntryFault => shared(good => {
  const match = async (key: string, expected: Revision): Promise<Revision> => read(expected, await revisionAt(good, key) ?? '')
  return {
    put: async (key, value, expected) => await good.put(key, value, expected && await match(key, expected)),
    delete: async (key, expected) => await good.delete(key, await match(key, expected))
  }
})
const numbers = readAs(expected => String(Number.parseInt(expected)))
const leadingZeros = readAs(expected => expected.replace(/^0+/, ''))
const padded = readAs(expected => expected.trimEnd())
const patterns = readAs((expected, there) => expected === '%' ? there : expected)

/** As `UPDATE ... WHERE revision = ?` does. */
const revisionAlone: EntryFault = shared(good => {
  const keys = new Map<Revision, string>()
  return {
    async put (key, value, expected) {
      const at = expected === null ? key : keys.get(expected) ?? key
      const revision = await good.put(at, value, expected)
      if (revision !== null) keys.set(revision, at)
      return revision
    },
    delete: async (key, expected) => await good.delete(keys.get(expected) ?? key, expected)
  }
})

const parsed = (value: string): unknown => {
  try { return JSON.parse(value) } catch { return value }
}

export const entryFaults: Readonly<Record<string, Readonly<Record<string, EntryFault>>>> = {
  'what was never written is null': {
    'undefined when there is nothing': shared(good => ({ get: async key => (await good.get(key)) ?? undefined as never })),
    'an empty value when there is nothing': shared(good => ({ get: async key => (await good.get(key)) ?? { value: '', revision: '' } }))
  },
  'what was put is found, with the revision that put returned': {
    'misses are cached': cached(found => found === null),
    'hits are cached': cached(found => found !== null),
    'get returns another revision': shared(good => ({ get: async key => { const found = await good.get(key); return found && { ...found, revision: `v${found.revision}` } } })),
    'revisions are numbers': shared(good => ({ put: async (...args) => Number(await good.put(...args)) as never })),
    'put returns nothing': shared(good => ({ put: async (...args) => { await good.put(...args); return undefined as never } })),
    'a replacement is not written': shared(good => ({ put: async (key, value, expected) => expected === null ? await good.put(key, value, null) : randomUUID() }))
  },
  'put without an expected revision replaces nothing': {
    'it replaces': shared(good => ({ put: async (key, value, expected) => expected === null ? await overwrite(good, key, value) : await good.put(key, value, expected) })),
    'it returns the revision that is there': shared(good => ({ put: async (...args) => await good.put(...args) ?? await revisionAt(good, args[0]) }))
  },
  'put with a revision that is not there changes nothing': {
    'the revision is ignored': shared(good => ({ put: async (key, value, expected) => expected === null ? await good.put(key, value, null) : await overwrite(good, key, value) })),
    'it creates what is missing': shared(good => ({ put: async (key, value, expected) => await good.put(key, value, await good.get(key) === null ? null : expected) })),
    'any revision will do when there is something': shared(good => ({ put: async (key, value, expected) => await good.put(key, value, expected && (await revisionAt(good, key) ?? expected)) })),
    'it writes, and then says that it lost': shared(good => ({ put: async (key, value, expected) => await good.put(key, value, expected) ?? (await overwrite(good, key, value), null) })),
    'revisions are read as numbers': numbers,
    'leading zeros do not count': leadingZeros,
    'trailing spaces do not count': padded,
    'revisions are read as patterns': patterns
  },
  'delete with a revision that is not there deletes nothing': {
    'the revision is ignored': shared(good => ({ delete: async key => await good.delete(key, await revisionAt(good, key) ?? '') })),
    'it always says true': shared(good => ({ delete: async (...args) => { await good.delete(...args); return true } })),
    'it deletes, and then says false': shared(good => ({ delete: async (key, expected) => await good.delete(key, expected) || (await good.delete(key, await revisionAt(good, key) ?? ''), false) })),
    'revisions are read as numbers': numbers,
    'leading zeros do not count': leadingZeros,
    'trailing spaces do not count': padded,
    'revisions are read as patterns': patterns
  },
  'the revision of another entry is not there': {
    'an entry is found by its revision alone': revisionAlone
  },
  'delete with the right revision deletes, once': {
    'hits are cached': cached(found => found !== null),
    'it deletes nothing': shared(good => ({ delete: async (key, expected) => await revisionAt(good, key) === expected })),
    'it says nothing': shared(good => ({ delete: async (...args) => { await good.delete(...args); return undefined as never } })),
    'a deleted entry can be replaced': shared(good => ({ put: async (...args) => await good.put(...args) ?? (await good.get(args[0]) === null ? await good.put(args[0], args[1], null) : null) }))
  },
  'of 1,000 that create at once, one wins': {
    'it looks, and then writes': shared(looksThenPuts),
    'it looks, and then writes, with a lock in each process': lockedInEachProcess(looksThenPuts)
  },
  'of 1,000 that replace at once, one wins': {
    'it looks, and then writes': shared(looksThenPuts),
    'it looks, and then writes, with a lock in each process': lockedInEachProcess(looksThenPuts)
  },
  'of 50 that delete at once, one does': {
    'it looks, and then deletes': shared(looksThenDeletes),
    'it looks, and then deletes, with a lock in each process': lockedInEachProcess(looksThenDeletes)
  },
  'of a delete and a put of the same revision, one wins': {
    'it looks, and then deletes': shared(looksThenDeletes),
    'it looks, and then writes': shared(looksThenPuts),
    'it looks, and then does either, with a lock in each process': lockedInEachProcess(good => ({ ...looksThenPuts(good), ...looksThenDeletes(good) }))
  },
  '50 that read, add one and write until they have won lose no addition': {
    'it looks, and then writes': shared(looksThenPuts),
    'it looks, and then writes, with a lock in each process': lockedInEachProcess(looksThenPuts),
    'nobody ever replaces': shared(good => ({ put: async (key, value, expected) => expected === null ? await good.put(key, value, null) : null }))
  },
  'every write gives a new revision, for an equal value too': {
    'the revision is a hash of the value': revisedBy(value => createHash('sha256').update(value).digest('hex')),
    'an equal value is not written': revisedBy((value, before) => before?.value === value ? before.revision : randomUUID())
  },
  'a revision never comes back, not even after a delete': {
    'each entry counts from 1': revisedBy((_value, before) => String(Number(before?.revision ?? 0) + 1)),
    'the revision is a hash of the value and of the one before': revisedBy((value, before) => createHash('sha256').update(`${before?.revision} ${value}`).digest('hex'))
  },
  'large values, and values that look like something else, stay what they are': {
    'values are cut at 32 KiB': valuesRead(value => value.slice(0, 32_768)),
    'values are cut at 65,535': valuesRead(value => value.slice(0, 65_535)),
    'values are trimmed': valuesRead(value => value.trim()),
    'values are read as JSON': valuesRead(value => parsed(value)),
    'values are read as JSON, and written again': valuesRead(value => String(parsed(value))),
    'values are decoded as URLs': valuesRead(value => { try { return decodeURIComponent(value) } catch { return value } }),
    'the word null is nothing': shared(good => ({ get: async key => { const found = await good.get(key); return found?.value === 'null' ? null : found } })),
    'only a new value is cut': shared(good => ({ put: async (key, value, expected) => await good.put(key, expected === null ? value.slice(0, 32_768) : value, expected) })),
    'only a replacement is cut': shared(good => ({ put: async (key, value, expected) => await good.put(key, expected === null ? value : value.slice(0, 32_768), expected) }))
  }
}
