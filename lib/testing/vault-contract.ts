import assert from 'node:assert/strict'
import type { Revision, TokenVault } from '../storage.js'
import { contractCase, randomHash, show, type ContractCase } from './contract.js'
import { entryContract } from './entry-contract.js'
import { assertDeleted, create, replace, type Entry } from './entry.js'

function entryAt (vault: TokenVault, owner: string, name: string): Entry {
  return {
    get: () => vault.get(owner, name),
    put: (value, expected) => vault.put(owner, name, value, expected),
    delete: expected => vault.delete(owner, name, expected)
  }
}

/** What every `TokenVault` must do. */
export const vaultContract: ReadonlyArray<ContractCase<TokenVault>> = [
  ...entryContract<TokenVault>((...vaults) => {
    const [owner, name] = [randomHash(), randomHash()]
    return vaults.map(vault => entryAt(vault, owner, name)) as [Entry, Entry]
  }),

  contractCase('entries of other owners and names are others', async vault => {
    const [a, b] = [randomHash(), randomHash()]
    const hashes = [a, b, otherDigit(a, 0), otherDigit(a, 63)]
    const places = hashes.flatMap(owner => hashes.map(name => [owner, name] as const))
    const taken = 'an entry is taken for that of another owner or name'
    const revisions: string[] = []
    for (const [owner, name] of places) {
      const revision = await vault.put(owner, name, `${owner} ${name}`, null)
      assert.equal(typeof revision, 'string', taken)
      revisions.push(revision!)
    }
    for (const [owner, name] of places) assert.equal((await vault.get(owner, name))?.value, `${owner} ${name}`, taken)
    for (const [i, [owner, name]] of places.entries()) {
      assert.equal((await vault.get(owner, name))?.value, `${owner} ${name}`, 'an entry must stay when that of another owner or name is deleted')
      assert.equal(await vault.delete(owner, name, revisions[i]!), true, 'delete must return true when it deleted')
    }
    for (const [owner, name] of places) assert.equal(await vault.get(owner, name), null, 'what was deleted must be gone')
  }),

  contractCase('list pages through the entries of one owner, each once', async (vault, other) => {
    // Whatever the order of the owners is by, some stand before and some after this one.
    const [before, owner, after] = neighbours()
    const names = await fill(vault, owner, Array.from({ length: 7 }, randomHash))
    for (const another of [before, after]) await fill(vault, another, [...names.slice(0, 2), randomHash()])
    const expected = names.map(name => `${owner}/${name}`).sort()
    for (const limit of [1, 3, 7, 100]) {
      const found = await pages(other, limit, owner)
      const of = `by pages of ${limit}`
      assert.deepEqual(found.filter(place => !place.startsWith(owner)), [], `list must list entries of the given owner alone, ${of}`)
      assert.equal(new Set(found).size, found.length, `list must list an entry once, ${of}`)
      assert.deepEqual(found.sort(), expected, `list must list every entry, ${of}`)
    }
    assert.deepEqual(await vault.list({ owner: randomHash(), limit: 10 }), { entries: [], cursor: null }, 'of an unknown owner there must be nothing to list')
  }),

  contractCase('list pages through the entries of all owners, each once', async (vault, other) => {
    const names = [randomHash(), randomHash()]
    const expected = new Set<string>()
    for (const owner of Array.from({ length: 12 }, randomHash)) {
      for (const name of await fill(vault, owner, [...names, randomHash()])) expected.add(`${owner}/${name}`)
    }
    for (const limit of [5, 100]) {
      const found = (await pages(other, limit)).filter(place => expected.has(place))
      assert.equal(new Set(found).size, expected.size, `list must list every entry, by pages of ${limit}`)
      assert.equal(found.length, expected.size, `list must list an entry once, by pages of ${limit}`)
    }
  }),

  contractCase('what is deleted is not listed, and what is made anew is listed once', async (vault, other) => {
    const owner = randomHash()
    const [stays, goes, returns] = [randomHash(), randomHash(), randomHash()]
    await fill(vault, owner, [stays, goes, returns])
    for (const name of [goes, returns]) await remove(vault, owner, name)
    await fill(vault, owner, [returns])
    const found = await pages(other, 100, owner)
    assert.ok(!found.includes(`${owner}/${goes}`), 'list must not list what was deleted')
    assert.deepEqual(found.sort(), [stays, returns].map(name => `${owner}/${name}`).sort(), 'list must list an entry once, also when it was deleted and made anew')
    for (const name of [stays, returns]) await remove(vault, owner, name)
    assert.deepEqual(await other.list({ owner, limit: 10 }), { entries: [], cursor: null }, 'when all is deleted there must be nothing to list')
  }),

  contractCase('writes that lose do not change what list lists', async (vault, other) => {
    const owner = randomHash()
    const [there, missing] = [randomHash(), randomHash()]
    await fill(vault, owner, [there])
    for (const name of [there, missing]) {
      assert.equal(await vault.put(owner, name, 'lost', 'no such revision'), null, 'put must return null for a revision that is not there')
      assert.equal(await vault.delete(owner, name, 'no such revision'), false, 'delete must return false for a revision that is not there')
    }
    assert.equal(await vault.put(owner, there, 'lost', null), null, 'put must return null when there is something already')
    const found = await pages(other, 100, owner)
    assert.deepEqual(found, [`${owner}/${there}`], 'list must list what there is, once, whatever writes have lost')
    await remove(vault, owner, there)
    assert.equal(await vault.put(owner, missing, 'lost', 'no such revision'), null, 'put must return null for a revision that is not there')
    assert.deepEqual(await pages(other, 100, owner), [], 'list must not list an entry that no put has made')
  }),

  contractCase('entries that stay are listed once while others come and go', async (vault, other) => {
    for (const change of [
      // What was just listed goes, and with it what the cursor may point to.
      async (owner: string, page: readonly string[]) => { for (const name of page) await remove(other, owner, name) },
      async (owner: string, page: readonly string[]) => { for (const name of page.slice(-1)) await remove(other, owner, name) },
      // It is written again, as it is when all grants get a new key.
      async (owner: string, page: readonly string[]) => { for (const name of page) await rewrite(other, owner, name) },
      // New ones come, before and after all others.
      async (owner: string) => { await fill(other, owner, ['0', 'f'].map(digit => digit.repeat(8) + randomHash().slice(8))) }
    ]) {
      const owner = randomHash()
      const names = await fill(vault, owner, Array.from({ length: 20 }, randomHash))
      const found = await pages(vault, 4, owner, async places => await change(owner, places.map(place => place.slice(owner.length + 1))))
      for (const name of names) {
        const count = found.filter(place => place === `${owner}/${name}`).length
        assert.equal(count, 1, `list must list an entry once while others come and go, and has listed one ${count} times`)
      }
    }
  })
]

/** Each is written twice. */
async function fill (vault: TokenVault, owner: string, names: readonly string[]): Promise<readonly string[]> {
  for (const name of names) {
    const entry = entryAt(vault, owner, name)
    await replace(entry, 'second', await create(entry, 'first'))
  }
  return names
}

async function remove (vault: TokenVault, owner: string, name: string): Promise<void> {
  const entry = entryAt(vault, owner, name)
  assertDeleted(await entry.delete(await revisionOf(entry)), true, 'when the revision is there')
}

async function rewrite (vault: TokenVault, owner: string, name: string): Promise<void> {
  const entry = entryAt(vault, owner, name)
  await replace(entry, 'again', await revisionOf(entry))
}

async function revisionOf (entry: Entry): Promise<Revision> {
  const found = await entry.get()
  assert.ok(typeof found?.revision === 'string', `get must find what is listed, and returned ${show(found)}`)
  return found.revision
}

/** Three that differ in the last digit, in the order of the alphabet. */
function neighbours (): [string, string, string] {
  const digits = randomHash().slice(1)
  return [`${digits}0`, `${digits}8`, `${digits}f`]
}

/** The same, but for one hexadecimal digit. */
function otherDigit (hash: string, at: number): string {
  return hash.slice(0, at) + (hash[at] === '0' ? '1' : '0') + hash.slice(at + 1)
}

/** What all pages together list. @param between is called with what a page has listed, before the next one */
async function pages (vault: TokenVault, limit: number, owner?: string, between?: (places: readonly string[]) => Promise<void>): Promise<string[]> {
  const places: string[] = []
  const times = new Map<string, number>()
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await vault.list({ limit, ...owner !== undefined && { owner }, ...cursor !== undefined && { cursor } })
    assert.ok(page.cursor === null || typeof page.cursor === 'string', `a cursor must be a string, or null on the last page, and is ${page.cursor}`)
    assert.ok(page.entries.length <= limit, `a page must hold ${limit} entries at most, and holds ${page.entries.length}`)
    assert.ok(page.cursor === null || page.entries.length > 0, 'an empty page must be the last one')
    const listed = page.entries.map(({ owner, name }) => `${owner}/${name}`)
    for (const place of listed) {
      times.set(place, (times.get(place) ?? 0) + 1)
      assert.ok(times.get(place)! < 10, 'list must come to an end, and has listed an entry for the tenth time')
    }
    places.push(...listed)
    cursor = page.cursor
    if (cursor !== null) await between?.(listed)
  }
  return places
}
