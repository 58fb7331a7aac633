import t, { type Test } from 'tap'
import { memoryStore } from '../../lib/index.js'
import { isForgetful } from '../../lib/stores/forgetful.js'
import { advance } from '../fixtures/clock.js'

// What every store does is shown by contract.test.ts.

t.test('owners and names may be called like what every object has', async t => {
  const { vault } = memoryStore()
  for (const owner of ['a', '__proto__']) for (const name of ['x', 'constructor']) await vault.put(owner, name, owner + name, null)
  t.equal((await vault.get('__proto__', 'constructor'))?.value, '__proto__constructor')
  t.equal(await vault.get('constructor', 'x'), null)
  t.strictSame((await vault.list({ owner: 'a', limit: 10 })).entries, [{ owner: 'a', name: 'constructor' }, { owner: 'a', name: 'x' }])
})

t.test('pages list each of many entries once, though all that was listed is deleted before the next page', async t => {
  const { vault } = memoryStore()
  const expected: string[] = []
  for (let owner = 0; owner < 3000; owner++) {
    for (let name = 0; name <= owner % 3; name++) {
      await vault.put(`o${owner}`, `n${name}`, 'v', null)
      expected.push(`o${owner}/n${name}`)
    }
  }
  const found: string[] = []
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await vault.list({ limit: 7, ...cursor !== undefined && { cursor } })
    for (const { owner, name } of page.entries) {
      found.push(`${owner}/${name}`)
      await vault.delete(owner, name, (await vault.get(owner, name))!.revision)
    }
    cursor = page.cursor
  }
  t.strictSame(found.sort(), expected.sort())
  t.strictSame(await vault.list({ limit: 7 }), { entries: [], cursor: null })
})

t.test('a replaced record keeps its expiry, and one without a lifetime never expires', async t => {
  stopClock(t)
  const { state } = memoryStore()
  const first = await state.put('k', '1', null, 1000)
  const second = await state.put('k', '2', first)
  await state.put('forever', 'x', null)
  advance(t, 999)
  t.strictSame(await state.get('k'), { value: '2', revision: second })
  advance(t, 1)
  t.equal(await state.get('k'), null, 'at the millisecond of its expiry')
  advance(t, 1_000_000_000)
  t.equal((await state.get('forever'))?.value, 'x')
})

t.test('a window starts with its first event and is over at its end', async t => {
  const { state } = memoryStore()
  stopClock(t)
  t.strictSame(await state.count('k', 1000), { count: 1, resetMs: 1000 })
  advance(t, 999)
  t.strictSame(await state.count('k', 1000), { count: 2, resetMs: 1 })
  advance(t, 1)
  t.strictSame(await state.count('k', 1000), { count: 1, resetMs: 1000 })
})

t.test('what has expired does not stay in memory, and is removed in slices', async t => {
  const timers = captureTimers(t)
  const { state } = memoryStore()
  t.equal(timers.length, 0, 'a store that is not used has no timer')
  const expiring = Array.from({ length: 15_000 }, (_, i) => `expiring ${i}`)
  const staying = ['lasting', 'forever', 'lasting window']
  for (const key of expiring) await state.put(key, 'v', null, 1000)
  await state.put('lasting', 'v', null, 1_000_000)
  await state.put('forever', 'v', null)
  await state.count('window', 1000)
  await state.count('lasting window', 1_000_000)
  t.equal(timers.length, 1)
  advance(t, 1001)
  const removed = captureRemovals(t, new Set([...expiring, 'window', ...staying]))
  const slices: number[] = []
  for (let more = true; more && slices.length < 10;) {
    const before = removed.length
    timers.pop()!.run()
    await new Promise(resolve => setImmediate(resolve))
    slices.push(removed.length - before)
    more = timers[0]!.ms < 1000
  }
  t.strictSame(slices.map(slice => slice < 5100), [true, true, true], 'three slices, each of about 5,000')
  t.equal(removed.length, 15_000 + 1, 'the records and the window')
  t.strictSame(staying.filter(key => removed.includes(key)), [])
  timers.pop()!.run()
  await new Promise(resolve => setImmediate(resolve))
  t.equal(removed.length, 15_000 + 1, 'another time there is nothing more to remove')
})

t.test('a store that is closed has no timer', async t => {
  const timers = captureTimers(t)
  const { state, close } = memoryStore()
  await state.put('k', 'v', null, 1000)
  timers.pop()!.run()
  await close()
  t.equal(timers.length, 0)
})

t.test('it says of each of its parts that it forgets', async t => {
  const { vault, state, bus } = memoryStore()
  t.strictSame([vault, state, bus].map(isForgetful), [true, true, true])
})

t.test('once it is closed, nothing is heard any more', async t => {
  const { bus, close } = memoryStore()
  const heard: string[] = []
  await bus.subscribe(message => { heard.push(message) })
  await bus.publish('1')
  await close()
  await bus.publish('2')
  t.strictSame(heard, ['1'])
})

function stopClock (t: Test): void {
  t.intercept(Date, 'now', { value: () => 5000, configurable: true, writable: true })
}

interface Timer {
  readonly ms: number
  run (): void
}

/** Timers that go off when the test says so. */
function captureTimers (t: Test): Timer[] {
  const timers: Timer[] = []
  const timer = { unref: () => timer }
  t.intercept(globalThis, 'setTimeout', { value: (run: () => void, ms: number) => { timers.push({ run, ms }); return timer } })
  return timers
}

/** The keys that are removed from now on, of those that this test has written: others use maps too. */
function captureRemovals (t: Test, written: ReadonlySet<unknown>): unknown[] {
  const removed: unknown[] = []
  const { delete: remove } = Map.prototype
  // Not with t.intercept, which keeps a record of each call: too slow for so many.
  // eslint-disable-next-line no-extend-native
  Map.prototype.delete = function (key: unknown) {
    if (written.has(key)) removed.push(key)
    return remove.call(this, key)
  }
  // eslint-disable-next-line no-extend-native
  t.teardown(() => { Map.prototype.delete = remove })
  return removed
}
