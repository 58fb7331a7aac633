import { randomBytes } from 'node:crypto'
import t from 'tap'
import { createDeclines } from '../../lib/elicitation/declines.js'
import { createElicitations, elicitationHash, type Elicitations, type Wanted } from '../../lib/elicitation/elicitations.js'
import { memoryStore } from '../../lib/index.js'
import type { StateStore } from '../../lib/storage.js'
import { createKeyRing } from '../../lib/vault/key-ring.js'
import { createSealer } from '../../lib/vault/sealer.js'

// What is wanted beside, while a link is there.

const sealer = createSealer(createKeyRing([randomBytes(32)]))
const client = { id: 'c' }
const wanted: Wanted = { principal: { issuer: 'i', subject: 's' }, provider: 'acme', scopes: ['a'], reasons: ['to list'] }

const create = (state: StateStore): Elicitations => createElicitations({
  state, sealer, declines: createDeclines({ state, sealer }, 0), limiter: { count: async () => {} }, audit: () => {}
}, 900_000)

t.test('a new scope or a new reason is added, once, and what is there already costs the store no write', async t => {
  const { state } = memoryStore()
  let writes = 0
  const elicitations = create({ ...state, put: async (...args) => { writes++; return await state.put(...args) } })
  const { id } = (await elicitations.request(client, wanted))!
  for (const [more, scopes, reasons, cost] of [
    [{}, ['a'], ['to list'], 0],
    [{ scopes: ['b'] }, ['a', 'b'], ['to list'], 1],
    [{ reasons: ['to close'] }, ['a', 'b'], ['to list', 'to close'], 1],
    [{ scopes: ['b', 'a'], reasons: ['to close', 'to list'] }, ['a', 'b'], ['to list', 'to close'], 0],
    [{ reasons: ['1', '2', '3', '4'] }, ['a', 'b'], ['to list', 'to close', '1', '2', '3'], 1],
    [{ reasons: ['5'] }, ['a', 'b'], ['to list', 'to close', '1', '2', '3'], 0]
  ] as const) {
    writes = 0
    t.equal((await elicitations.request(client, { ...wanted, ...more }))?.id, id)
    t.match(await elicitations.find(elicitationHash(id)), { scopes, reasons })
    t.equal((await elicitations.find(elicitationHash(id)))?.reasons.length, reasons.length)
    t.equal(writes, cost, JSON.stringify(more))
  }
})

t.test('who loses the race for it tries again', async t => {
  const { state } = memoryStore()
  const { id } = (await create(state).request(client, wanted))!
  let lost = 0
  const late = create({ ...state, put: async (key, ...rest) => key.startsWith('elicitation:') && lost++ === 0 ? null : await state.put(key, ...rest) })
  t.equal((await late.request(client, { ...wanted, scopes: ['b'] }))?.id, id)
  t.equal(lost, 2)
  t.strictSame((await late.find(elicitationHash(id)))?.scopes, ['a', 'b'])
})
