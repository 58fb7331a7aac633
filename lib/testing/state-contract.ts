import assert from 'node:assert/strict'
import type { Revision, StateStore } from '../storage.js'
import { atOnce, contractCase, eventually, randomHash, type ContractCase } from './contract.js'
import { entryContract } from './entry-contract.js'
import { assertOneWinner, create as createEntry, replace as replaceEntry, type Entry } from './entry.js'

const SHORT_MS = 150
const LONG_MS = 600_000
const ROUNDING_MS = 1000

/** @param ttlMs lifetime that each put gives */
function entryAt (state: StateStore, key: string, ttlMs?: number): Entry {
  return {
    get: () => state.get(key),
    put: (value, expected) => state.put(key, value, expected, ttlMs),
    delete: expected => state.delete(key, expected)
  }
}

/** Waits until twice the short lifetime has passed for the store, by a record that has just that. It touches no other record. */
async function laterThanShort (state: StateStore): Promise<void> {
  const key = `control:${randomHash()}`
  await create(state, key, 2 * SHORT_MS)
  await expiry(state, key)
}

async function expiry (state: StateStore, key: string): Promise<void> {
  await eventually('a record with a lifetime, which is in milliseconds, must expire', async () => await state.get(key) === null)
}

async function create (state: StateStore, key: string, ttlMs?: number): Promise<Revision> {
  return await createEntry(entryAt(state, key, ttlMs), 'first')
}

async function replace (state: StateStore, key: string, expected: Revision, ttlMs?: number): Promise<Revision> {
  return await replaceEntry(entryAt(state, key, ttlMs), 'second', expected)
}

async function assertValue (state: StateStore, key: string, value: string, message: string): Promise<void> {
  const found = (await state.get(key))?.value
  assert.ok(found === value, `${message}: get must find ${JSON.stringify(value)}, and has found ${JSON.stringify(found)}`)
}

function assertCounts (results: ReadonlyArray<{ readonly count: number }>): void {
  const counts = results.map(({ count }) => count).sort((a, b) => a - b)
  const wrong = counts.findIndex((count, i) => count !== i + 1)
  assert.equal(wrong, -1, `of ${counts.length} events at once, count must return each number from 1 to ${counts.length} once, and ${wrong + 1} is missing`)
}

/** Keys that a store must tell apart, though some of them look or sort alike, or mean something to a database. */
function oddKeys (): string[] {
  const base = `odd:${randomHash()}`
  const long = base + ':' + 'x'.repeat(510 - base.length)
  return [
    ...[
      '', ':', '::', ' ', '  ', '.', '/', '\\', '*', '?', '%', '_', '[a]', '{a}', '{b}', '"', "'", '`', '$1', '\n', '\t', ':a', ':A', ':a ', ' :a',
      ':a:b', ':a/b', ':a.b', ':ab', ':é', ':e\u0301', ':ß', ':ss', ':ſ', ':İ', ':i', ':I', ':１', ':1', ':01', ':😀', ':😁', ':\u200b', ':__proto__',
      ':constructor', ':+', ': ', ':%20', ':%61', ':#', ':#a', ':中', ':-', '/a', '/b/../a', '/./a', '//a', '/a/', ':' + 'x'.repeat(300), ':' + 'x'.repeat(300) + 'y'
    ].map(end => base + end),
    ...[' ', '\n', '/', './', 'O', 'x'].map(start => start + base),
    base.toUpperCase(), long, long + 'x', long + 'y'
  ]
}

/** What every `StateStore` must do. */
export const stateContract: ReadonlyArray<ContractCase<StateStore>> = [
  ...entryContract<StateStore>((...states) => {
    const key = `entry:${randomHash()}`
    return states.map(state => entryAt(state, key)) as [Entry, Entry]
  }),

  contractCase('keys are told apart exactly, also case, spaces and Unicode forms', async (state, other) => {
    const keys = oddKeys()
    const revisions = new Map<string, Revision | null>()
    for (const key of keys) {
      const revision = await state.put(key, key, null, LONG_MS)
      assert.equal(typeof revision, 'string', `a key must not be taken for another: ${JSON.stringify(key)}`)
      revisions.set(key, revision)
    }
    for (const key of keys) await assertValue(other, key, key, 'a key must not be taken for another')
    const [gone, rest] = [0, 1].map(odd => keys.filter((_, i) => i % 2 === odd)) as [string[], string[]]
    for (const key of gone) assert.equal(await state.delete(key, revisions.get(key)!), true, `delete must find a record by its key: ${JSON.stringify(key)}`)
    for (const key of gone) assert.equal(await other.get(key), null, `what was deleted must be gone: ${JSON.stringify(key)}`)
    for (const key of rest) await assertValue(other, key, key, 'a record must stay when that of another key is deleted')
  }),

  contractCase('an expired record is a missing one', async (state, other) => {
    // No call has seen that they are expired: whichever comes first must.
    const [read, replaced, deleted, made] = ['read', 'replaced', 'deleted', 'made'].map(what => `expiring:${what}:${randomHash()}`) as [string, string, string, string]
    await create(state, read, SHORT_MS)
    const [old, gone, first] = [await create(state, replaced, SHORT_MS), await create(state, deleted, SHORT_MS), await create(state, made, SHORT_MS)]
    await laterThanShort(other)
    assert.equal(await state.get(read), null, 'get must return null for an expired record')
    assert.equal(await state.put(replaced, 'late', old, LONG_MS), null, 'put must lose with the revision of an expired record')
    assert.equal(await other.get(replaced), null, 'an expired record must stay missing when put returns null')
    assert.equal(await state.delete(deleted, gone), false, 'delete must return false for an expired record')
    const second = await other.put(made, 'second', null, LONG_MS)
    assert.equal(typeof second, 'string', 'an expired record must not be in the way of a new one')
    assert.notEqual(second, first, 'a revision must not come back after an expiry')
    assert.equal(await state.put(made, 'late', first), null, 'put must lose with the revision of an expired record')
    assert.equal(await state.delete(made, first), false, 'delete must return false with the revision of an expired record')
    await assertValue(state, made, 'second', 'a record that was made in the place of an expired one must stay')
  }),

  contractCase('of 50 that create over an expired record at once, one wins', async (state, other) => {
    const key = `expiring:${randomHash()}`
    await create(state, key, SHORT_MS)
    await laterThanShort(state)
    const revisions = await atOnce(50, [state, other], async (state, i) => await state.put(key, String(i), null, LONG_MS))
    assertOneWinner(revisions, revisions.filter(revision => revision !== null))
    await assertValue(other, key, String(revisions.findIndex(revision => revision !== null)), 'what is there must be what won')
  }),

  contractCase('a put without a lifetime keeps the expiry', async (state, other) => {
    const [short, long, busy] = [`kept:${randomHash()}`, `kept:${randomHash()}`, `kept:${randomHash()}`]
    await replace(other, long, await create(state, long, LONG_MS))
    const first = await create(state, short, SHORT_MS)
    await other.put(short, 'second', first)     // loses on a slow machine
    await expiry(state, short)
    let revision: Revision | null = await create(state, busy, 4 * SHORT_MS)
    await eventually('a record must expire at its time, however often it is replaced without a lifetime', async () => {
      revision = await other.put(busy, 'again', revision)
      return revision === null
    })
    await assertValue(state, long, 'second', 'a record must not expire before its time')
  }),

  contractCase('a put with a lifetime begins it anew', async (state, other) => {
    const [longer, shorter, added] = [`changed:${randomHash()}`, `changed:${randomHash()}`, `changed:${randomHash()}`]
    const first = await create(state, longer, SHORT_MS)
    const kept = await other.put(longer, 'second', first, LONG_MS) !== null     // it loses on a slow machine
    await replace(other, shorter, await create(state, shorter, LONG_MS), SHORT_MS)
    await replace(other, added, await create(state, added), SHORT_MS)
    await expiry(state, shorter)
    await expiry(state, added)
    await laterThanShort(state)
    if (kept) await assertValue(state, longer, 'second', 'a record must not expire at its first time when a put has begun a longer one')
  }),

  contractCase('a put that loses does not touch the lifetime', async (state, other) => {
    const [short, long] = [`lost:${randomHash()}`, `lost:${randomHash()}`]
    await create(state, long, LONG_MS)
    await create(state, short, SHORT_MS)
    const lost = [
      await other.put(short, 'lost', 'no such revision', LONG_MS), await other.put(long, 'lost', 'no such revision', SHORT_MS), await other.put(long, 'lost', null, SHORT_MS)
    ]
    assert.deepEqual(lost, [null, null, null], 'put must return null when it loses, also with a lifetime')
    await expiry(state, short)
    await laterThanShort(state)
    await assertValue(state, long, 'first', 'a put that loses must not make the lifetime of a record shorter')
  }),

  contractCase('a record that was made without a lifetime stays, also in the place of one that had one', async state => {
    const [fresh, again, over] = [`lasting:${randomHash()}`, `lasting:${randomHash()}`, `lasting:${randomHash()}`]
    await create(state, fresh)
    await create(state, over, SHORT_MS)
    const revision = await create(state, again, SHORT_MS)
    if (!await state.delete(again, revision)) await expiry(state, again)     // on a slow machine
    await create(state, again)
    await laterThanShort(state)
    await create(state, over)
    await assertValue(state, fresh, 'first', 'a record without a lifetime must stay')
    await assertValue(state, again, 'first', 'a record without a lifetime must stay, in the place of a deleted one that had one')
    await assertValue(state, over, 'first', 'a record without a lifetime must stay, in the place of an expired one')
  }),

  contractCase('count counts each event once, for each key by itself', async (state, other) => {
    const key = `count:${randomHash()}`
    const results = await atOnce(1000, [state, other], async state => await state.count(key, LONG_MS))
    assertCounts(results)
    for (const { resetMs } of results) assert.ok(resetMs > 0 && resetMs <= LONG_MS, `resetMs must be the rest of the window, and is ${resetMs}`)
    for (const key of oddKeys()) {
      const { count } = await state.count(key, LONG_MS)
      assert.equal(count, 1, `count must be 1 for the first event of a key, which must not be taken for another, and is ${count}: ${JSON.stringify(key)}`)
    }
  }),

  contractCase('a window starts with its first event and ends at its time, however many events there are in it', async state => {
    const [key, long] = [`window:${randomHash()}`, `window:${randomHash()}`]
    const began = performance.now()
    const whole = await state.count(long, LONG_MS)
    const passed = performance.now() - began
    assert.ok(whole.resetMs >= LONG_MS - passed - ROUNDING_MS && whole.resetMs <= LONG_MS,
      `resetMs must be the whole window of ${LONG_MS} ms at its first event, and is ${whole.resetMs}`)
    const { count } = await state.count(key, SHORT_MS)
    assert.equal(count, 1, `count must be 1 for the first event of a key, and is ${count}`)
    let last = 1
    await eventually('a window must end, however many events there are in it', async () => {
      const { count, resetMs } = await state.count(key, SHORT_MS)
      assert.ok(resetMs <= SHORT_MS, `resetMs must not be longer than the window of ${SHORT_MS} ms, and is ${resetMs}`)
      const ended = count <= last
      last = count
      return ended
    })
    assert.equal(last, 1, `a new window must begin with its first event, and has counted ${last}`)
    await laterThanShort(state)
    const rest = await state.count(long, LONG_MS)
    assert.equal(rest.count, 2, `a window must not end before its time: count must be 2, and is ${rest.count}`)
    assert.ok(rest.resetMs < whole.resetMs, `resetMs must be the rest of the window, and is ${rest.resetMs} after it was ${whole.resetMs}`)
  }),

  contractCase('of 50 events at once after a window has ended, each is counted once', async (state, other) => {
    const key = `window:${randomHash()}`
    for (let i = 0; i < 3; i++) await state.count(key, SHORT_MS)
    await laterThanShort(state)
    assertCounts(await atOnce(50, [state, other], async state => await state.count(key, LONG_MS)))
  }),

  contractCase('a count is no record, and a record no count', async (state, other) => {
    const [key, lasting] = [`both:${randomHash()}`, `both:${randomHash()}`]
    const counted = async (expected: number): Promise<void> => {
      const { count } = await state.count(key, LONG_MS)
      assert.equal(count, expected, `a record must not touch the count of the same key: it must be ${expected}, and is ${count}`)
    }
    await counted(1)
    assert.equal(await state.get(key), null, 'get must return null when there is a count alone')
    const revision = await state.put(key, '7', null, LONG_MS)
    assert.equal(typeof revision, 'string', 'a count must not be in the way of a record')
    await counted(2)
    await assertValue(state, key, '7', 'count must not touch the record of the same key')
    assert.equal(await other.delete(key, revision!), true, 'delete must return true when it deleted')
    await counted(3)
    await create(state, lasting)
    await state.count(lasting, SHORT_MS)
    await laterThanShort(state)
    await assertValue(state, lasting, 'first', 'a record must not expire with the window of a count')
  })
]
