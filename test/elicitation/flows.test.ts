import { randomBytes } from 'node:crypto'
import t from 'tap'
import { createFlows, FLOW_TTL_MS, hashFlowCookie, matchesFlowCookie, type Flow } from '../../lib/elicitation/flows.js'
import { createRecords } from '../../lib/state/records.js'
import { memoryStore } from '../../lib/index.js'
import { hashConnection } from '../../lib/principal.js'
import { createKeyRing } from '../../lib/vault/key-ring.js'
import { createSealer } from '../../lib/vault/sealer.js'
import { advance } from '../fixtures/clock.js'

const sealer = createSealer(createKeyRing([randomBytes(32)]))
const principal = { issuer: 'i', subject: 's' }
const flow: Omit<Flow, 'status' | 'generation' | 'expiresAt'> = {
  elicitationId: 'canary-id', provider: 'acme', issuer: 'i', clientId: 'c', redirectUri: 'r', scopes: [], codeVerifier: 'canary-verifier', cookieHash: hashFlowCookie('canary-cookie')
}

t.test('a flow is claimed once, of however many', async t => {
  const flows = createFlows({ state: memoryStore().state, sealer })
  await flows.start('canary-state', principal, flow)
  const claims = await Promise.all(Array.from({ length: 50 }, () => flows.claim('canary-state')))
  t.equal(claims.filter(Boolean).length, 1)
  t.equal(await flows.claim('canary-state'), false, 'nor later')
  t.equal((await flows.find('canary-state'))?.status, 'claimed')
  t.equal(await flows.claim('another-state'), false)
  t.equal(await flows.find('another-state'), null)
})

t.test('the flow cookie is kept as a hash, and compared whole', async t => {
  const flows = createFlows({ state: memoryStore().state, sealer })
  await flows.start('state', principal, flow)
  const found = (await flows.find('state'))!
  t.notMatch(JSON.stringify(found), 'canary-cookie')
  t.equal(matchesFlowCookie(found, 'canary-cookie'), true)
  for (const cookie of ['', 'canary-cooki', 'canary-cookie ', found.cookieHash]) t.equal(matchesFlowCookie(found, cookie), false)
})

t.test('what is stored is sealed to its own place', async t => {
  const rows = new Map<string, string>()
  const { state } = memoryStore()
  const spied = { ...state, put: async (...args: Parameters<typeof state.put>) => { rows.set(args[0], args[1]); return await state.put(...args) } }
  await createFlows({ state: spied, sealer }).start('canary-state', principal, flow)
  const [key, value] = [...rows].find(([key]) => key.startsWith('flow:'))!
  t.notMatch(key + value, 'canary')
  await state.put('flow:elsewhere', value, null)
  await state.put(`other:${key.slice('flow:'.length)}`, value, null)
  for (const [kind, place] of [['flow', 'elsewhere'], ['other', key.slice('flow:'.length)]] as const) {
    const records = createRecords<Flow>(kind, { state, sealer })
    const found = await records.get(place)
    t.match(found, { record: null, revision: String }, 'a row that cannot be opened counts as none')
    t.type(await records.put(place, { ...flow, status: 'started', generation: 0, expiresAt: 0 }, found.revision, 1000), 'string', 'and can be written anew')
    t.match(await records.get(place), { record: flow })
  }
})

t.test('a flow whose generation the store has lost, or another key has sealed, counts as revoked', async t => {
  const { state } = memoryStore()
  const flows = createFlows({ state, sealer })
  const find = async (name: string): Promise<Flow> => (await flows.find(name))!
  await flows.start('state', principal, flow)
  const key = `flow-generation:${hashConnection(principal, 'acme')}`
  t.equal(await flows.isRevoked(await find('state'), principal), false)
  const elsewhere = createFlows({ state, sealer: createSealer(createKeyRing([randomBytes(32)])) })
  await elsewhere.revoke(principal, 'acme')
  t.equal(await flows.isRevoked(await find('state'), principal), true, 'another process has disconnected, with a key that is unknown here')
  t.equal(await state.delete(key, (await state.get(key))!.revision), true)
  t.equal(await flows.isRevoked(await find('state'), principal), true, 'the record is gone')
  await flows.start('later', principal, flow)
  t.equal(await flows.isRevoked(await find('later'), principal), false)
})

t.test('the record of a generation lives as long as the last flow that was started', async t => {
  const { state } = memoryStore()
  const flows = createFlows({ state, sealer })
  await flows.revoke(principal, 'acme')
  advance(t, FLOW_TTL_MS + 59 * 60_000)
  await flows.start('state', principal, flow)
  advance(t, FLOW_TTL_MS)
  t.equal(await flows.isRevoked((await flows.find('state'))!, principal), false)
})

t.test('a disconnect ends the flows of one user at one provider that were started before it, and no later one', async t => {
  const flows = createFlows({ state: memoryStore().state, sealer })
  const find = async (state: string): Promise<Flow> => (await flows.find(state))!
  await flows.start('before', principal, flow)
  t.equal(await flows.isRevoked(await find('before'), principal), false)
  await flows.revoke(principal, 'other')
  await flows.revoke({ ...principal, subject: 't' }, 'acme')
  t.equal(await flows.isRevoked(await find('before'), principal), false)

  const { now } = Date
  t.intercept(Date, 'now', { value: () => now() - 5000, configurable: true })       // a clock that jumps back has no say
  await flows.revoke(principal, 'acme')
  t.equal(await flows.isRevoked(await find('before'), principal), true)
  await flows.start('after', principal, flow)
  t.equal(await flows.isRevoked(await find('after'), principal), false)
  await flows.revoke(principal, 'acme')
  t.equal(await flows.isRevoked(await find('after'), principal), true)
})

t.test('a flow that the store did not take is not begun', async t => {
  const { state } = memoryStore()
  const flows = createFlows({ state: { ...state, put: async (key, ...rest) => key.startsWith('flow:') ? null : await state.put(key, ...rest) }, sealer })
  await t.rejects(flows.start('state', principal, flow), { code: 'FST_MCP_CONNECT_STORE_CONTENTION' })
})
