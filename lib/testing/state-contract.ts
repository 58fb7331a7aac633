import assert from 'node:assert/strict'
import type { StateStore } from '../types.js'
import { atOnce, contractCase, eventually, randomHash, type ContractCase } from './contract.js'
import { entryContract, type Entry } from './entry-contract.js'

const SHORT_MS = 150
const LONG_MS = 600_000

function entryAt (state: StateStore, key: string): Entry {
  return {
    get: () => state.get(key),
    put: (value, expected) => state.put(key, value, expected),
    delete: expected => state.delete(key, expected)
  }
}

/** Waits until twice the short lifetime has passed for the store, by a record that has just that. */
async function laterThanShort (state: StateStore): Promise<void> {
  const key = `control:${randomHash()}`
  await state.put(key, 'value', null, 2 * SHORT_MS)
  await expiry(state, key)
}

async function expiry (state: StateStore, key: string): Promise<void> {
  await eventually('a record with a lifetime must expire', async () => await state.get(key) === null)
}

/** Keys that a store must tell apart, though some of them look or sort alike, or mean something to a database. */
function oddKeys (): string[] {
  const base = `odd:${randomHash()}`
  return [
    '', ':', '::', ' ', '  ', '.', '/', '\\', '*', '?', '%', '_', '[a]', '{a}', '{b}', '"', "'", '`', '$1', '\n', '\t', ':a', ':A', ':a ', ' :a',
    ':a:b', ':a/b', ':a.b', ':ab', ':é', ':e\u0301', ':ß', ':ss', ':ſ', ':İ', ':i', ':I', ':１', ':1', ':01', ':😀', ':😁', ':\u200b', ':__proto__',
    ':constructor', ':' + 'x'.repeat(400), ':' + 'x'.repeat(400) + 'y'
  ].map(end => base + end)
}

/** What every `StateStore` must do. */
export const stateContract: ReadonlyArray<ContractCase<StateStore>> = [
  ...entryContract<StateStore>((...states) => {
    const key = `entry:${randomHash()}`
    return states.map(state => entryAt(state, key)) as [Entry, Entry]
  }),

  contractCase('keys are told apart exactly, also case, spaces and Unicode forms', async state => {
    const keys = oddKeys()
    for (const key of keys) assert.notEqual(await state.put(key, key, null, LONG_MS), null, `taken for another key: ${JSON.stringify(key)}`)
    for (const key of keys) assert.equal((await state.get(key))?.value, key)
  }),

  contractCase('an expired record is a missing one', async (state, other) => {
    const key = `expiring:${randomHash()}`
    const first = await state.put(key, 'first', null, SHORT_MS)
    assert.notEqual(first, null)
    await expiry(other, key)
    assert.equal(await state.put(key, 'late', first), null, 'put must lose with the revision of an expired record')
    assert.equal(await state.delete(key, first!), false, 'delete must return false for an expired record')
    const second = await other.put(key, 'second', null, LONG_MS)
    assert.equal(typeof second, 'string', 'an expired record must not be in the way of a new one')
    assert.notEqual(second, first)
    assert.equal(await state.put(key, 'late', first), null)
    assert.equal((await state.get(key))?.value, 'second')
  }),

  contractCase('of 50 that create over an expired record at once, one wins', async (state, other) => {
    const key = `expiring:${randomHash()}`
    await state.put(key, 'first', null, SHORT_MS)
    await expiry(state, key)
    const revisions = await atOnce(50, [state, other], async (state, i) => await state.put(key, String(i), null, LONG_MS))
    assert.equal(revisions.filter(revision => revision !== null).length, 1, 'one must win')
  }),

  contractCase('a put without a lifetime keeps the expiry', async (state, other) => {
    const [short, long] = [`kept:${randomHash()}`, `kept:${randomHash()}`]
    await other.put(short, 'second', await state.put(short, 'first', null, SHORT_MS))
    await other.put(long, 'second', await state.put(long, 'first', null, LONG_MS))
    await expiry(state, short)
    assert.equal((await state.get(long))?.value, 'second')
  }),

  contractCase('a put with a lifetime begins it anew', async (state, other) => {
    const [longer, shorter] = [`changed:${randomHash()}`, `changed:${randomHash()}`]
    await other.put(longer, 'second', await state.put(longer, 'first', null, SHORT_MS), LONG_MS)
    await other.put(shorter, 'second', await state.put(shorter, 'first', null, LONG_MS), SHORT_MS)
    await expiry(state, shorter)
    await laterThanShort(state)
    assert.equal((await state.get(longer))?.value, 'second', 'it expired at its first time')
  }),

  contractCase('a record that was made without a lifetime stays, also in the place of one that had one', async state => {
    const [fresh, again] = [`lasting:${randomHash()}`, `lasting:${randomHash()}`]
    await state.put(fresh, 'value', null)
    const revision = await state.put(again, 'first', null, SHORT_MS)
    if (!await state.delete(again, revision!)) await expiry(state, again)     // on a slow machine
    await state.put(again, 'second', null)
    await laterThanShort(state)
    assert.equal((await state.get(fresh))?.value, 'value')
    assert.equal((await state.get(again))?.value, 'second')
  }),

  contractCase('count counts each event once, for each key by itself', async (state, other) => {
    const [key, another] = [`count:${randomHash()}`, `count:${randomHash()}`]
    const results = await atOnce(1000, [state, other], async state => await state.count(key, LONG_MS))
    assert.deepEqual(results.map(({ count }) => count).sort((a, b) => a - b), Array.from({ length: 1000 }, (_, i) => i + 1))
    assert.equal((await state.count(another, LONG_MS)).count, 1)
    for (const { resetMs } of results) assert.ok(resetMs > 0 && resetMs <= LONG_MS, `resetMs must be the rest of the window, and is ${resetMs}`)
  }),

  contractCase('a window ends at its time, however many events there are in it', async state => {
    const key = `window:${randomHash()}`
    assert.equal((await state.count(key, SHORT_MS)).count, 1)
    let last = 1
    await eventually('a window must end', async () => {
      const { count, resetMs } = await state.count(key, SHORT_MS)
      assert.ok(resetMs <= SHORT_MS)
      const ended = count <= last
      last = count
      return ended
    })
    assert.equal(last, 1, 'a new window begins with its first event')
  }),

  contractCase('a count is no record, and a record no count', async state => {
    const key = `both:${randomHash()}`
    assert.equal((await state.count(key, LONG_MS)).count, 1)
    assert.equal(await state.get(key), null)
    assert.notEqual(await state.put(key, '7', null, LONG_MS), null)
    assert.equal((await state.count(key, LONG_MS)).count, 2)
    assert.equal((await state.get(key))?.value, '7')
  })
]
