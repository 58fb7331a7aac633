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
