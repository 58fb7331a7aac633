import t from 'tap'
import { memoryStore } from '../../lib/index.js'
import { advance } from '../fixtures/clock.js'

t.test('vault: compare-and-set, delete, revisions that do not come back', async t => {
  const { vault } = memoryStore()
  t.equal(await vault.get('o', 'n'), null)
  t.equal(await vault.put('o', 'n', 'v', 'no such revision'), null)
  const first = await vault.put('o', 'n', '1', null)
  t.strictSame(await vault.get('o', 'n'), { value: '1', revision: first })
  t.equal(await vault.put('o', 'n', '2', null), null, 'there is one already')
  const second = await vault.put('o', 'n', '2', first)
  t.equal(await vault.put('o', 'n', '3', first), null, 'the race is lost')
  t.equal(await vault.delete('o', 'n', first!), false)
  t.equal(await vault.delete('o', 'n', second!), true)
  t.equal(await vault.delete('o', 'n', second!), false)
  const third = await vault.put('o', 'n', '1', null)
  t.notOk([first, second].includes(third))
})

t.test('vault: of many at once one wins, and owners do not mix', async t => {
  const { vault } = memoryStore()
  const revisions = await Promise.all(Array.from({ length: 100 }, (_, i) => vault.put('o', 'n', String(i), null)))
  t.equal(revisions.filter(revision => revision !== null).length, 1)
  for (const owner of ['a', 'b', '__proto__']) for (const name of ['x', 'constructor']) await vault.put(owner, name, owner + name, null)
  t.equal((await vault.get('__proto__', 'constructor'))?.value, '__proto__constructor')
  t.strictSame((await vault.list({ owner: 'a', limit: 10 })).entries, [{ owner: 'a', name: 'constructor' }, { owner: 'a', name: 'x' }])
  const all = []
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await vault.list({ limit: 2, ...cursor !== undefined && { cursor } })
    all.push(...page.entries)
    cursor = page.cursor
  }
  t.equal(all.length, 7)
  t.equal(new Set(all.map(({ owner, name }) => `${owner}/${name}`)).size, 7)
})

t.test('state: an expired record is a missing one', async t => {
  const { state } = memoryStore()
  const first = await state.put('k', '1', null, 1000)
  const second = await state.put('k', '2', first)
  t.strictSame(await state.get('k'), { value: '2', revision: second }, 'without a lifetime the expiry stays')
  await state.put('forever', 'x', null)
  advance(t, 1001)
  t.equal(await state.get('k'), null)
  t.equal(await state.put('k', '3', second), null)
  t.equal(await state.delete('k', second!), false)
  t.type(await state.put('k', '3', null, 1000), 'string')
  t.equal((await state.get('forever'))?.value, 'x')
})

t.test('state: counting in fixed windows', async t => {
  const { state } = memoryStore()
  t.match(await state.count('k', 1000), { count: 1, resetMs: 1000 })
  t.match(await state.count('k', 1000), { count: 2 })
  t.match(await state.count('other', 1000), { count: 1 })
  advance(t, 1001)
  t.match(await state.count('k', 1000), { count: 1, resetMs: 1000 })
})

t.test('what has expired does not stay in memory, and is removed in slices', async t => {
  let tick = (): void => {}
  t.intercept(globalThis, 'setInterval', { value: (sweep: () => void) => { tick = sweep; return { unref: () => undefined } } })
  const { state } = memoryStore()
  for (let i = 0; i < 15_000; i++) await state.put(`k${i}`, 'v', null, 1000)
  await state.put('lasting', 'v', null, 1_000_000)
  await state.count('k', 1000)
  advance(t, 1001)
  const removed: unknown[] = []
  const { delete: remove } = Map.prototype
  t.intercept(Map.prototype, 'delete', { value: function (this: Map<unknown, unknown>, key: unknown) { removed.push(key); return remove.call(this, key) } })
  tick()
  t.equal(removed.length, 10_000 + 1, 'a slice of the records, and the one window')
  tick()
  t.equal(removed.length, 15_000 + 1)
  t.notOk(removed.includes('lasting'))
})

t.test('bus', async t => {
  const { bus, close } = memoryStore()
  const heard: string[] = []
  const end = await bus.subscribe(message => heard.push(`a ${message}`))
  await bus.subscribe(message => heard.push(`b ${message}`))
  await bus.publish('1')
  await end()
  await bus.publish('2')
  await close()
  await bus.publish('3')
  t.strictSame(heard, ['a 1', 'b 1', 'b 2'])
})
