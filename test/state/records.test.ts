import { randomBytes } from 'node:crypto'
import t from 'tap'
import { memoryStore } from '../../lib/index.js'
import { createRecords } from '../../lib/state/records.js'
import { createKeyRing } from '../../lib/vault/key-ring.js'
import { createSealer } from '../../lib/vault/sealer.js'

const sealer = createSealer(createKeyRing([randomBytes(32)]))
const canary = { text: 'canary' }

t.test('VLT-02 a record opens under its own kind and key alone; elsewhere it counts as none, which is told', async t => {
  const { state } = memoryStore()
  const told: unknown[] = []
  const recordsOf = (kind: string): ReturnType<typeof createRecords<object>> => createRecords<object>(kind, { state, sealer, onUnreadable: error => told.push(error) })
  await recordsOf('flow').put('key', canary, null)
  t.match(await recordsOf('flow').get('key'), { record: canary, revision: String })
  t.strictSame(await recordsOf('other').get('key'), { record: null, revision: null }, 'there is none of another kind')
  t.equal(told.length, 0)

  const { value } = (await state.get('flow:key'))!
  t.notMatch(value, 'canary')
  for (const [kind, key] of [['flow', 'elsewhere'], ['other', 'key']] as const) {
    await state.put(`${kind}:${key}`, value, null)
    const found = await recordsOf(kind).get(key)
    t.match(found, { record: null, revision: String }, `${kind}:${key}`)
    t.type(await recordsOf(kind).put(key, canary, found.revision), 'string', 'it can be written anew')
    t.match(await recordsOf(kind).get(key), { record: canary })
  }
  t.match(told, [{ code: 'FST_MCP_CONNECT_SEAL_BROKEN' }, { code: 'FST_MCP_CONNECT_SEAL_BROKEN' }])
})

t.test('what is no broken seal is a fault, and not a record that is not there', async t => {
  const { state } = memoryStore()
  await state.put('flow:key', sealer.seal('no JSON', ['flow', 'key']), null)
  await t.rejects(createRecords('flow', { state, sealer }).get('key'), { name: 'SyntaxError' })
})

t.test('the store is told which revision must be there, and for how long', async t => {
  const { state } = memoryStore()
  const told: unknown[][] = []
  const records = createRecords('flow', {
    sealer,
    state: { ...state, put: async (key, value, ...more) => { told.push(more); return await state.put(key, value, ...more) } }
  })
  const revision = (await records.put('key', canary, null, 1000))!
  t.equal(await records.put('key', canary, null, 1000), null, 'there must be none')
  t.strictSame(told, [[null, 1000], [null, 1000]])
  t.type(await records.put('key', canary, revision), 'string')
  t.equal(await records.put('key', canary, revision), null, 'it was changed since')
  t.equal(await records.delete('key', revision), false)
  t.match(await records.get('key'), { record: canary })
})
