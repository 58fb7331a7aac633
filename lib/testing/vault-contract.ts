import assert from 'node:assert/strict'
import type { TokenVault } from '../types.js'
import { contractCase, randomHash, type ContractCase } from './contract.js'
import { entryContract, type Entry } from './entry-contract.js'

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
    const places = [[a, a], [a, b], [b, a], [b, b]] as const
    const revisions = []
    for (const [owner, name] of places) revisions.push(await vault.put(owner, name, `${owner} ${name}`, null))
    for (const [i, [owner, name]] of places.entries()) {
      assert.equal((await vault.get(owner, name))?.value, `${owner} ${name}`)
      assert.equal(await vault.delete(owner, name, revisions[i]!), true)
      assert.equal((await vault.get(...places[3]))?.value, i === 3 ? undefined : `${b} ${b}`)
    }
  }),

  contractCase('list pages through the entries of one owner, each once', async (vault, other) => {
    const owner = randomHash()
    const names = await fill(vault, owner, 7)
    await fill(vault, randomHash(), 3)
    for (const limit of [1, 3, 7, 100]) assert.deepEqual(await pages(other, limit, owner), names.map(name => `${owner}/${name}`))
    assert.deepEqual(await vault.list({ owner: randomHash(), limit: 10 }), { entries: [], cursor: null }, 'of an unknown owner there is nothing')
  }),

  contractCase('list pages through the entries of all owners, each once', async (vault, other) => {
    const owners = Array.from({ length: 12 }, randomHash)
    const expected = new Set<string>()
    for (const owner of owners) for (const name of await fill(vault, owner, 2)) expected.add(`${owner}/${name}`)
    for (const limit of [5, 100]) {
      const found = (await pages(other, limit)).filter(place => expected.has(place))
      assert.equal(new Set(found).size, expected.size, 'an entry is missing')
      assert.equal(found.length, expected.size, 'an entry was listed twice')
    }
  }),

  contractCase('what is deleted is not listed, and entries that stay are listed once while others come and go', async (vault, other) => {
    const owner = randomHash()
    const names = await fill(vault, owner, 20)
    const found: string[] = []
    let gone: string | undefined
    for (let cursor: string | null | undefined; cursor !== null;) {
      const page = await vault.list({ owner, limit: 4, ...cursor !== undefined && { cursor } })
      found.push(...page.entries.map(({ name }) => name))
      cursor = page.cursor
      const last = page.entries.at(-1)?.name
      if (last !== undefined) {
        await other.delete(owner, last, (await other.get(owner, last))!.revision)
        gone = last
      }
      await other.put(owner, randomHash(), 'value', null)
      assert.ok(found.length <= 100, 'list does not come to an end')
    }
    for (const name of names) assert.equal(found.filter(one => one === name).length, 1, 'an entry is missing, or was listed twice')
    assert.ok(!(await pages(vault, 100, owner)).includes(`${owner}/${gone}`), 'a deleted entry was listed')
  })
]

async function fill (vault: TokenVault, owner: string, count: number): Promise<string[]> {
  const names = Array.from({ length: count }, randomHash)
  for (const name of names) assert.notEqual(await vault.put(owner, name, 'value', null), null)
  return names.sort()
}

/** What all pages together list; of one owner, in the order of names. */
async function pages (vault: TokenVault, limit: number, owner?: string): Promise<string[]> {
  const places: string[] = []
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await vault.list({ limit, ...owner !== undefined && { owner }, ...cursor !== undefined && { cursor } })
    assert.ok(page.entries.length <= limit, 'a page holds more than was asked for')
    assert.ok(page.cursor === null || page.entries.length > 0, 'an empty page must be the last one')
    places.push(...page.entries.map(({ owner, name }) => `${owner}/${name}`))
    cursor = page.cursor
  }
  return owner === undefined ? places : places.sort()
}
