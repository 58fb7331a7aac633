import { randomBytes } from 'node:crypto'
import t from 'tap'
import { memoryStore } from '../../lib/index.js'
import { createGenerations } from '../../lib/state/generations.js'
import { createKeyRing } from '../../lib/vault/key-ring.js'
import { createSealer } from '../../lib/vault/sealer.js'
import { advance } from '../fixtures/clock.js'

const sealer = createSealer(createKeyRing([randomBytes(32)]))

t.test('REC-14 generations grow, whatever the clock does and however many begin one at once', async t => {
  const generations = createGenerations('test', { state: memoryStore().state, sealer }, 60_000)
  t.equal(await generations.current('acme'), 0)
  const { now } = Date
  let clock = now()
  t.intercept(Date, 'now', { value: () => clock })
  const begun = [await generations.begin('acme')]
  for (const step of [0, -5000, 1]) {
    clock += step
    begun.push(await generations.begin('acme'))
  }
  begun.push(...(await Promise.all(Array.from({ length: 5 }, () => generations.begin('acme')))).sort((a, b) => a - b))
  t.equal(new Set(begun).size, 9)
  t.strictSame(begun, [...begun].sort((a, b) => a - b))
  t.equal(await generations.current('acme'), begun.at(-1))
  t.equal(await generations.current('other'), 0)
})

t.test('a record that has expired does not begin again with old numbers', async t => {
  const generations = createGenerations('test', { state: memoryStore().state, sealer }, 60_000)
  const first = await generations.begin('acme')
  const { now } = Date
  t.intercept(Date, 'now', { value: () => now() + 60_001 })
  t.equal(await generations.current('acme'), 0)
  t.ok(await generations.begin('acme') > first)
})

t.test('keeping a generation begins none, and prolongs its record', async t => {
  const generations = createGenerations('test', { state: memoryStore().state, sealer }, 60_000)
  const first = await generations.keep('acme')
  t.ok(first > 0, 'it can be told from one that was lost')
  for (let i = 0; i < 2; i++) {
    advance(t, 40_000)
    t.equal(await generations.keep('acme'), first)
  }
})
