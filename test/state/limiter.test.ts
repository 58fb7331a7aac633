import t from 'tap'
import { memoryStore } from '../../lib/index.js'
import { createLimiter } from '../../lib/state/limiter.js'
import { advance } from '../fixtures/clock.js'

const limit = { max: 2, windowMs: 60_000 }

t.test('so many, and no more; the first one beyond says so', async t => {
  let count = 0
  const limiter = createLimiter('address', limit, { count: async () => ({ count: ++count, resetMs: 30_000 }) }, () => {})
  await limiter.count('x')
  await limiter.count('x')
  await t.rejects(limiter.count('x'), { code: 'FST_MCP_CONNECT_RATE_LIMITED', limit: 'address', first: true, retryAfterMs: 30_000 })
  await t.rejects(limiter.count('x'), { code: 'FST_MCP_CONNECT_RATE_LIMITED', first: false })
})

t.test('REC-14 nobody is told to wait for longer than a window, whatever the store\'s clock does', async t => {
  const limiter = createLimiter('address', limit, { count: async () => ({ count: 9, resetMs: 6 * 60 * 60_000 }) }, () => {})
  await t.rejects(limiter.count('x'), { code: 'FST_MCP_CONNECT_RATE_LIMITED', retryAfterMs: 60_000 })
})

t.test('a store that fails lets everything through, and is told once in a minute', async t => {
  const told: unknown[] = []
  const limiter = createLimiter('address', { ...limit, max: 1 }, { count: async () => { throw new Error('away') } }, error => { told.push(error) })
  for (let i = 0; i < 5; i++) await limiter.count('x')
  t.match(told, [{ message: 'away' }])
  t.equal(told.length, 1)
  advance(t, 60_001)
  await limiter.count('x')
  t.equal(told.length, 2)
})

t.test('what one limit counts is no other limit\'s', async t => {
  const { state } = memoryStore()
  for (const kind of ['address', 'principal', 'elicitations'] as const) await createLimiter(kind, { ...limit, max: 1 }, state, () => {}).count('x')
  await t.rejects(createLimiter('address', { ...limit, max: 1 }, state, () => {}).count('x'), { code: 'FST_MCP_CONNECT_RATE_LIMITED', limit: 'address' })
})

t.test('a limit that is switched off counts nothing', async t => {
  const limiter = createLimiter('address', false, { count: async () => t.fail('it counts') as never }, () => {})
  await t.resolves(limiter.count('x'))
})
