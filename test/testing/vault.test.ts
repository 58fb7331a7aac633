import t from 'tap'
import { memoryStore, type TokenVault } from '../../lib/index.js'
import { vaultContract } from '../../lib/testing/index.js'
import { entryFaults, type EntryFault } from './broken-entries.js'
import { assertCaught, broken, type Broken, type BrokenByCase } from './broken.js'

t.setTimeout(400_000)

type Query = Parameters<TokenVault['list']>[0]
type Page = Awaited<ReturnType<TokenVault['list']>>
type Place = Page['entries'][number]

const vault = (faults: (good: TokenVault) => Partial<TokenVault>): Broken<TokenVault> => broken('vault', faults)

function entryVault (fault: EntryFault): Broken<TokenVault> {
  return () => {
    const good = memoryStore().vault
    const at = (key: string): [string, string] => [key.slice(0, 64), key.slice(64)]
    const entries = {
      get: async (key: string) => await good.get(...at(key)),
      put: async (key: string, value: string, expected: string | null) => await good.put(...at(key), value, expected),
      delete: async (key: string, expected: string) => await good.delete(...at(key), expected)
    }
    const open = fault(entries)
    return () => {
      const { get, put, delete: remove } = { ...entries, ...open() }
      return {
        ...good,
        get: async (owner, name) => await get(owner + name),
        put: async (owner, name, value, expected) => await put(owner + name, value, expected),
        delete: async (owner, name, expected) => await remove(owner + name, expected)
      }
    }
  }
}

/** Owners and names are kept as something else. */
const keptAs = (place: (owner: string, name: string) => [string, string]): Broken<TokenVault> => vault(good => ({
  get: async (owner, name) => await good.get(...place(owner, name)),
  put: async (owner, name, value, expected) => await good.put(...place(owner, name), value, expected),
  delete: async (owner, name, expected) => await good.delete(...place(owner, name), expected)
}))

/** Lists something else of all that there is, in the order of owner and name. */
const listed = (list: (all: Place[], query: Query) => Page): Broken<TokenVault> => vault(good => ({
  list: async query => list([...(await good.list({ limit: Infinity })).entries].sort((a, b) => position(a) < position(b) ? -1 : 1), query)
}))

const ofOwner = (all: Place[], { owner }: Query): Place[] => all.filter(entry => owner === undefined || entry.owner === owner)
const byOffset = (all: Place[], { cursor = '0', limit }: Query): Page => {
  const end = Number(cursor) + limit
  return { entries: all.slice(Number(cursor), end), cursor: end < all.length ? String(end) : null }
}
const position = ({ owner, name }: Place): string => owner + name
const after = (all: Place[], { cursor = '', limit }: Query, key: (place: Place) => string): Page => {
  const rest = all.filter(entry => key(entry) > cursor)
  return { entries: rest.slice(0, limit), cursor: rest.length > limit ? key(rest[limit - 1]!) : null }
}

/** Lists by an index. @param removed whether deletes take from it. @param careless which call changes it also when it loses */
const index = (add: (places: Place[], place: Place) => void, removed = false, careless?: 'put' | 'delete'): Broken<TokenVault> => vault(good => {
  const places: Place[] = []
  return {
    async put (owner, name, value, expected) {
      const revision = await good.put(owner, name, value, expected)
      if (revision !== null || careless === 'put') add(places, { owner, name })
      return revision
    },
    async delete (owner, name, expected) {
      const deleted = await good.delete(owner, name, expected)
      const at = places.findIndex(place => place.owner === owner && place.name === name)
      if ((deleted || careless === 'delete') && removed && at >= 0) places.splice(at, 1)
      return deleted
    },
    list: async query => byOffset(ofOwner(places, query), query)
  }
})
/** In the order in which they were last written. */
const byChange: Broken<TokenVault> = vault(good => {
  const changes = new Map<string, string>()
  let count = 0
  return {
    async put (owner, name, value, expected) {
      const revision = await good.put(owner, name, value, expected)
      if (revision !== null) changes.set(owner + name, String(++count).padStart(9, '0'))
      return revision
    },
    async list (query) {
      const key = (place: Place): string => changes.get(position(place))!
      const all = [...(await good.list({ limit: Infinity })).entries].sort((a, b) => key(a) < key(b) ? -1 : 1)
      return after(ofOwner(all, query), query, key)
    }
  }
})
const addOnce = (places: Place[], place: Place): void => { if (!places.some(one => position(one) === position(place))) places.push(place) }

const table: BrokenByCase<TokenVault> = {
  ...Object.fromEntries(Object.entries(entryFaults).map(([name, faults]) =>
    [name, Object.fromEntries(Object.entries(faults).map(([fault, make]) => [fault, entryVault(make)]))])),

  'entries of other owners and names are others': {
    'the name alone is the key': keptAs((_owner, name) => ['', name]),
    'the owner alone is the key': keptAs(owner => [owner, '']),
    'owner and name in the order of the alphabet': keptAs((owner, name) => [owner, name].sort() as [string, string]),
    'owners are cut at 32': keptAs((owner, name) => [owner.slice(0, 32), name]),
    'names are cut at 63': keptAs((owner, name) => [owner, name.slice(0, 63)]),
    'the first digits are left out': keptAs((owner, name) => [owner.slice(1), name]),
    'names are read as numbers': keptAs((owner, name) => [owner, String(Number(`0x${name}`))]),
    'a delete ends all entries of the owner': vault(good => ({
      async delete (owner, name, expected) {
        const deleted = await good.delete(owner, name, expected)
        if (deleted) for (const one of (await good.list({ owner, limit: 100 })).entries) await good.delete(owner, one.name, (await good.get(owner, one.name))!.revision)
        return deleted
      }
    }))
  },
  'list pages through the entries of one owner, each once': {
    'the owner is forgotten': vault(good => ({ list: async ({ owner, ...query }) => await good.list(query) })),
    'the owner is forgotten after the first page': listed((all, query) => after(query.cursor === undefined ? ofOwner(all, query) : all, query, position)),
    'the owner is looked at after the limit': listed((all, query) => { const page = byOffset(all, query); return { ...page, entries: ofOwner(page.entries as Place[], query) } }),
    'the cursor is ignored': vault(good => ({ list: async ({ cursor, ...query }) => await good.list(query) })),
    'the limit is ignored': vault(good => ({ list: async query => await good.list({ ...query, limit: 1000 }) })),
    'the last page comes for ever': vault(good => ({ async list (query) { const page = await good.list(query); return { ...page, cursor: page.cursor ?? query.cursor ?? '' } } })),
    'an empty page comes for ever': vault(good => ({ async list (query) { const page = await good.list(query); return { ...page, cursor: page.cursor ?? 'g' } } })),
    'a page begins with the last entry of the one before': listed((all, query) => {
      const { cursor = '', limit } = query
      const rest = ofOwner(all, query).filter(entry => position(entry) >= cursor)
      return { entries: rest.slice(0, limit), cursor: rest.length > limit ? position(rest[limit - 1]!) : null }
    }),
    'a page leaves out its first entry': listed((all, query) => {
      const { cursor = '', limit } = query
      const rest = ofOwner(all, query).filter(entry => position(entry) > cursor)
      return { entries: rest.slice(0, limit), cursor: rest.length > limit ? position(rest[limit]!) : null }
    }),
    'there is one page': vault(good => ({ list: async query => ({ ...await good.list(query), cursor: null }) })),
    'the cursor is undefined on the last page': vault(good => ({ async list (query) { const page = await good.list(query); return { ...page, cursor: page.cursor ?? undefined as never } } })),
    'entries are in capitals': vault(good => ({ async list (query) { const page = await good.list(query); return { ...page, entries: page.entries.map(({ owner, name }) => ({ owner, name: name.toUpperCase() })) } } }))
  },
  'list pages through the entries of all owners, each once': {
    'the cursor is a name': listed((all, query) => after(ofOwner(all, query), query, ({ name }) => name)),
    'the cursor is an owner': listed((all, query) => after(ofOwner(all, query), query, ({ owner }) => owner)),
    'what is written twice is listed twice': index((places, place) => places.push(place), true),
    'without an owner there is nothing': listed((all, query) => byOffset(all.filter(({ owner }) => owner === query.owner), query)),
    'there is one page': vault(good => ({ list: async query => ({ ...await good.list(query), cursor: null }) })),
    'the cursor is ignored': vault(good => ({ list: async ({ cursor, ...query }) => await good.list(query) }))
  },
  'what is deleted is not listed, and what is made anew is listed once': {
    'what is deleted is listed': index(addOnce),
    'what is made anew is listed twice': index((places, place) => places.push(place), true),
    'what is made anew is not listed': vault(good => {
      const deleted = new Set<string>()
      return {
        delete: async (owner, name, expected) => await good.delete(owner, name, expected) && deleted.add(owner + name) !== undefined,
        async list (query) { const page = await good.list(query); return { ...page, entries: page.entries.filter(place => !deleted.has(position(place))) } }
      }
    })
  },
  'writes that lose do not change what list lists': {
    'the index is written first': index(addOnce, true, 'put'),
    'the index forgets first': index(addOnce, true, 'delete'),
    'each try is listed': index((places, place) => places.push(place), true, 'put')
  },
  'entries that stay are listed once while others come and go': {
    'pages are counted by an offset': listed((all, query) => byOffset(ofOwner(all, query), query)),
    'pages are counted by an offset, the newest first': index((places, place) => { if (!places.some(one => position(one) === position(place))) places.unshift(place) }, true),
    'in the order of the last change': byChange,
    'after the place of an entry, which may be gone': listed((all, query) => {
      const places = ofOwner(all, query)
      const rest = places.slice(query.cursor === undefined ? 0 : places.findIndex(place => position(place) === query.cursor) + 1)
      return { entries: rest.slice(0, query.limit), cursor: rest.length > query.limit ? position(rest[query.limit - 1]!) : null }
    })
  }
}

t.test('each case of the vault contract catches what it is there for', async t => {
  await assertCaught(t, vaultContract, vault(() => ({})), table)
})
