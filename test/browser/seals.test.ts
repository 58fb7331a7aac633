import { sealData } from 'iron-session'
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { z } from 'zod'
import { createSeals } from '../../lib/browser/seals.js'
import { createKeyRing } from '../../lib/vault/key-ring.js'
import { advance } from '../fixtures/clock.js'

const schema = z.object({ id: z.string() })
const [old, young] = [randomBytes(32), randomBytes(32)]
const create = (keys: [Buffer, ...Buffer[]], purpose = 'a') => createSeals(createKeyRing(keys), purpose, 60_000, schema)

t.test('VLT-09 while a key is replaced, every process opens what every other one has sealed', async t => {
  const steps: Array<[Buffer, ...Buffer[]]> = [[old], [old, young], [young, old], [young]]
  for (const [i, from] of steps.entries()) {
    const seal = await create(from).seal({ id: 'x' })
    for (const to of [steps[i - 1], from, steps[i + 1]]) {
      if (to !== undefined) t.strictSame(await create(to).open(seal), { id: 'x' }, `step ${i}`)
    }
  }
  t.equal(await create([young]).open(await create([old]).seal({ id: 'x' })), null)
})

t.test('BRW-20 the same password and the same data, for another purpose, is no seal of this one', async t => {
  const password = createKeyRing([old]).derive('a cookie')[0]!.toString('base64url')
  const envelope = { expiresAt: Date.now() + 60_000, data: { id: 'x' } }
  const open = create([old]).open
  t.strictSame(await open(await sealData({ ...envelope, purpose: 'a' }, { password })), { id: 'x' })
  for (const other of [{ ...envelope, purpose: 'b' }, envelope, { purpose: 'a', data: envelope.data }, { ...envelope, purpose: 'a', data: {} }, { ...envelope, purpose: 'a', expiresAt: Date.now() }]) {
    t.equal(await open(await sealData(other, { password })), null)
  }
  t.equal(await create([old], 'b').open(await create([old]).seal({ id: 'x' })), null, 'and it has another password')
})

t.test('a seal ends when its lifetime does, to the millisecond', async t => {
  const seals = create([old])
  const seal = await seals.seal({ id: 'x' })
  await t.test('before', async t => {
    advance(t, 59_000)
    t.ok(await seals.open(seal))
  })
  advance(t, 60_001)
  t.equal(await seals.open(seal), null)
})
