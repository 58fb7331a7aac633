import { randomBytes } from 'node:crypto'
import t from 'tap'
import { createDeclines } from '../../lib/elicitation/declines.js'
import { askerHash, createElicitations, elicitationHash, type Wanted } from '../../lib/elicitation/elicitations.js'
import { memoryStore } from '../../lib/index.js'
import { createKeyRing } from '../../lib/vault/key-ring.js'
import { createSealer } from '../../lib/vault/sealer.js'
import { advance } from '../fixtures/clock.js'

const sealer = createSealer(createKeyRing([randomBytes(32)]))
const wanted: Wanted = { principal: { issuer: 'i', subject: 's' }, provider: 'acme', scopes: ['a'], reasons: [] }
const { principal, provider } = wanted
const DAY_MS = 86_400_000

t.test('a decline is remembered however often another one was quicker', async t => {
  const { state } = memoryStore()
  let lost = 0
  const declines = createDeclines({ state: { ...state, put: async (...args) => lost++ < 2 ? null : await state.put(...args) }, sealer }, DAY_MS)
  await declines.add('asker', principal, provider)
  t.equal(await declines.has('asker', principal, provider), true)
})

t.test('one that is void stays so until its end', async t => {
  const declines = createDeclines({ state: memoryStore().state, sealer }, DAY_MS)
  await declines.add('asker', principal, provider)
  await declines.clear(principal, provider)
  advance(t, DAY_MS - 1000)
  t.equal(await declines.has('asker', principal, provider), false)
})

t.test('one in the moment in which a link is made leaves nothing to wait for', async t => {
  const { state } = memoryStore()
  const client = { id: 'c' }
  const declines = createDeclines({ state, sealer }, DAY_MS)
  let declined = false
  const get: typeof state.get = async key => {
    const stored = await state.get(key)
    if (key.startsWith('decline:') && !declined) {
      declined = true
      await declines.add(askerHash({ ...wanted, client }), principal, provider)
      await elicitations.retire(principal, provider)
    }
    return stored
  }
  const elicitations = createElicitations({
    state: { ...state, get }, sealer, declines: createDeclines({ state: { ...state, get }, sealer }, DAY_MS), limiter: { count: async () => {} }, audit: () => {}
  }, 900_000)
  const { id } = (await elicitations.request(client, wanted))!
  t.equal(declined, true)
  t.equal(await elicitations.isLive(elicitationHash(id)), false)
  t.equal(await elicitations.request(client, wanted), null)
})
