import t from 'tap'
import { coalesce } from '../../lib/elicitation/coalesce.js'

t.test('work that hangs is given up, and takes neither those who waited behind it nor later ones with it', async t => {
  const runs: string[] = []
  const never = new Promise<string>(() => {})
  const ask = coalesce<string, string>((a, b) => a + b, async (_key, wanted) => {
    runs.push(wanted)
    return runs.length === 1 ? await never : wanted
  }, 20)
  const [hung, ...behind] = await Promise.allSettled(['a', 'b', 'c'].map(wanted => ask('key', wanted)))
  t.match(hung, { status: 'rejected', reason: { code: 'FST_MCP_CONNECT_STORE_TIMEOUT', statusCode: 503 } })
  t.match(behind, [{ value: 'bc' }, { value: 'bc' }])
  t.equal(await ask('key', 'd'), 'd')
  t.strictSame(runs, ['a', 'bc', 'd'])
})

t.test('other keys do not wait', async t => {
  const ask = coalesce<string, string>((a, b) => a + b, async (key, wanted) => key === 'slow' ? await new Promise(() => {}) : wanted, 20)
  const slow = ask('slow', 'a')
  t.equal(await ask('key', 'b'), 'b')
  await t.rejects(slow)
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
