import t from 'tap'
import { coalesce } from '../../lib/elicitation/coalesce.js'

t.test('calls that come while work runs share the next run, also when that work fails; other keys do not wait', async t => {
  const runs: string[] = []
  const ask = coalesce<string, string>((a, b) => a + b, async (_key, wanted) => {
    runs.push(wanted)
    await new Promise(resolve => setImmediate(resolve))
    if (wanted === 'a') throw new Error('first')
    return wanted
  })
  const asked = Promise.allSettled(['a', 'b', 'c'].map(wanted => ask('key', wanted)))
  t.equal(await ask('other', 'x'), 'x')
  t.match(await asked, [{ status: 'rejected', reason: { message: 'first' } }, { value: 'bc' }, { value: 'bc' }])
  t.equal(await ask('key', 'd'), 'd')
  t.strictSame(runs, ['a', 'x', 'bc', 'd'])
})

t.test('one at a time, also for calls that come in the moment in which one run follows another', async t => {
  let running = 0
  let most = 0
  const ask = coalesce<number, number>((a, b) => Math.max(a, b), async (_key, wanted) => {
    most = Math.max(most, ++running)
    await new Promise(resolve => setImmediate(resolve))
    running--
    return wanted
  })
  const calls = [ask('key', 1), ask('key', 2)]
  const more = calls[0]!.then(async () => {
    for (let i = 0; i < 10; i++) {
      calls.push(ask('key', i))
      await null
    }
  })
  await more
  await Promise.all(calls)
  t.equal(most, 1)
})

t.test('what has run leaves nothing behind', async t => {
  const kept = new Set<unknown>()
  for (const [method, tell] of [['set', (key: unknown) => kept.add(key)], ['delete', (key: unknown) => kept.delete(key)]] as const) {
    const original: (...args: any[]) => unknown = Map.prototype[method]
    t.intercept(Map.prototype, method, { value: function (this: Map<unknown, unknown>, ...args: unknown[]) { tell(args[0]); return original.apply(this, args) } })
  }
  const ask = coalesce<number, number>((a, b) => a + b, async (_key, wanted) => wanted)
  const asked = [ask('key', 1), ask('key', 2), ask('key', 3)]
  t.ok(kept.has('key'))
  t.strictSame(await Promise.all(asked), [1, 5, 5])
  t.notOk(kept.has('key'))
})
