import { randomBytes } from 'node:crypto'
import t from 'tap'
import type { Audit } from '../../lib/audit-events.js'
import { askerHash, createElicitations, elicitationHash, isPending, type Elicitations, type Wanted } from '../../lib/elicitation/elicitations.js'
import { createDeclines, type Declines } from '../../lib/elicitation/declines.js'
import { RateLimitedError } from '../../lib/errors.js'
import { memoryStore } from '../../lib/index.js'
import { createLimiter } from '../../lib/state/limiter.js'
import type { StateStore } from '../../lib/storage.js'
import { createKeyRing } from '../../lib/vault/key-ring.js'
import { createSealer } from '../../lib/vault/sealer.js'
import { advance } from '../fixtures/clock.js'

const sealer = createSealer(createKeyRing([randomBytes(32)]))
const client = { id: 'c' }
const wanted: Wanted = { principal: { issuer: 'i', subject: 's' }, provider: 'acme', scopes: ['a'], reasons: [] }
const limits = { ttlMs: 900_000, coolDownMs: 300_000 }

function createBoth (state: StateStore, ttlMs = limits.ttlMs, audit: Audit = () => {}): { elicitations: Elicitations, declines: Declines } {
  const declines = createDeclines({ state, sealer }, limits.coolDownMs)
  return { declines, elicitations: createElicitations({ state, sealer, declines, limiter: createLimiter('elicitations', false, state, () => {}), audit }, ttlMs) }
}

async function decline ({ elicitations, declines }: ReturnType<typeof createBoth>, { id }: { id: string }): Promise<void> {
  await elicitations.end(elicitationHash(id), 'declined', null)
  await declines.add(askerHash({ ...wanted, client }), wanted.principal, wanted.provider)
}

const create = (state: StateStore): Elicitations => createBoth(state).elicitations

t.test('two processes that ask at once share one record, and nothing of what they want is lost', async t => {
  const { state: store } = memoryStore()
  const rows = new Set<string>()
  const state = {
    ...store,
    put: async (...args: Parameters<typeof store.put>) => { rows.add(args[0]); return await store.put(...args) },
    delete: async (...args: Parameters<typeof store.delete>) => { rows.delete(args[0]); return await store.delete(...args) }
  }
  const [one, two] = [create(state), create(state)]
  const asked = await Promise.all(Array.from({ length: 50 }, (_, i) =>
    (i % 2 === 0 ? one : two).request(client, { ...wanted, scopes: ['a', `s${i}`], reasons: [`r${i % 5}`] })))
  t.equal(new Set(asked.map(elicitation => elicitation?.id)).size, 1)
  const record = await one.find(elicitationHash(asked[0]!.id))
  t.equal(record?.scopes.length, 51)
  t.equal(record?.reasons.length, 5)
  t.equal([...rows].filter(key => key.startsWith('elicitation:')).length, 1, 'the loser of the race leaves nothing behind')
})

t.test('a thousand calls at once read the store a few times', async t => {
  const { state } = memoryStore()
  let reads = 0
  const elicitations = create({ ...state, get: async key => { reads++; return await state.get(key) } })
  await Promise.all(Array.from({ length: 1000 }, () => elicitations.request(client, wanted)))
  t.ok(reads <= 8, `${reads} reads`)
})

t.test('a run that fails does not take the next one with it', async t => {
  const { state } = memoryStore()
  let fail = true
  const elicitations = create({ ...state, get: async key => { if (fail) { fail = false; throw new Error('down') } return await state.get(key) } })
  const [first, second] = await Promise.allSettled([elicitations.request(client, wanted), elicitations.request(client, wanted)])
  t.match([first, second], [{ status: 'rejected', reason: { message: 'down' } }, { status: 'fulfilled' }])
})

t.test('each principal, client and provider has a record of its own', async t => {
  const elicitations = create(memoryStore().state)
  const variants: Array<(e: Elicitations) => Promise<{ id: string } | null>> = [
    e => e.request(client, wanted),
    e => e.request(client, { ...wanted, principal: { issuer: 'i', subject: 't' } }),
    e => e.request(client, { ...wanted, principal: { issuer: 'j', subject: 's' } }),
    e => e.request(client, { ...wanted, principal: { issuer: 'i', subject: 's', tenant: 't' } }),
    e => e.request(client, { ...wanted, principal: { issuer: 'is', subject: 'c' } }),
    e => e.request({ id: 'd' }, wanted),
    e => e.request({ id: '' }, wanted),
    e => e.request({ id: 'page' }, wanted),
    e => e.offer(wanted, null),
    e => e.request(client, { ...wanted, provider: 'other' })
  ]
  const ids = await Promise.all(variants.map(async variant => (await variant(elicitations))?.id))
  t.equal(new Set(ids).size, variants.length)
})

t.test('a held record is finished by its holder only, and given back when that fails or is gone', async t => {
  const elicitations = create(memoryStore().state)
  const hash = elicitationHash((await elicitations.request(client, wanted))!.id)
  t.strictSame(await Promise.all([elicitations.hold(hash, 'one'), elicitations.hold(hash, 'two')]), ['won', 'held'])
  t.equal(await elicitations.hold(hash, 'one'), 'won', 'the holder renews')
  await elicitations.release(hash, 'two')
  t.equal(await elicitations.hold(hash, 'two'), 'held', 'nobody gives back what another holds')
  for (const other of ['two', null]) t.equal(await elicitations.end(hash, 'declined', other), 'held')
  await elicitations.release(hash, 'one')
  t.equal(await elicitations.hold(hash, 'two'), 'won')
  advance(t, 30_001)
  t.equal(await elicitations.hold(hash, 'three'), 'won', 'a hold does not outlive its holder for long')
  t.equal(await elicitations.end(hash, 'completed', 'two'), 'held', 'who has lost it cannot end it')
  t.equal(await elicitations.end(hash, 'completed', 'three'), 'won')
  await elicitations.release(hash, 'three')
  t.equal(await elicitations.hold(hash, 'three'), 'over')
  t.equal((await elicitations.find(hash))?.status, 'completed')
})

t.test('a decline holds for the cool-down, unless the user begins by themselves', async t => {
  const both = createBoth(memoryStore().state)
  const { elicitations, declines } = both
  const first = (await elicitations.request(client, wanted))!
  await decline(both, first)
  t.equal(await elicitations.request(client, wanted), null)
  t.type((await elicitations.request({ id: 'another' }, wanted))?.id, 'string', 'another client may ask')
  t.type((await elicitations.offer(wanted, null)).id, 'string')
  await declines.clear(wanted.principal, 'other')
  await declines.clear({ issuer: 'i', subject: 'another' }, wanted.provider)
  t.equal(await elicitations.request(client, wanted), null, 'another provider, or user, is another matter')
  const { now } = Date
  t.intercept(Date, 'now', { value: () => now() - 60_000, configurable: true })       // a clock that jumps back has no say
  await declines.clear(wanted.principal, wanted.provider)
  const again = (await elicitations.request(client, wanted))!
  t.not(again.id, first.id)
  await decline(both, again)
  t.equal(await elicitations.request(client, wanted), null)
})

t.test('a decline counts whichever link of a client it is made on', async t => {
  const both = createBoth(memoryStore().state)
  const { elicitations } = both
  const first = (await elicitations.request(client, wanted))!
  advance(t, limits.ttlMs - 60_000)
  const second = (await elicitations.request(client, wanted))!
  t.not(second.id, first.id)
  await decline(both, first)
  t.equal(await elicitations.request(client, wanted), null)
})

t.test('a decline that was remembered longer ago than the generations are still counts', async t => {
  const { state } = memoryStore()
  const declines = createDeclines({ state, sealer }, 86_400_000)
  await declines.clear(wanted.principal, wanted.provider)
  advance(t, 86_400_000)
  await declines.add('asker', wanted.principal, wanted.provider)
  advance(t, 7_200_000)
  t.equal(await declines.has('asker', wanted.principal, wanted.provider), true)
  await declines.clear(wanted.principal, wanted.provider)
  t.equal(await declines.has('asker', wanted.principal, wanted.provider), false)
  await declines.add('asker', wanted.principal, wanted.provider)
  t.equal(await declines.has('asker', wanted.principal, wanted.provider), true)
})

t.test('without a cool-down nothing is remembered', async t => {
  const { state } = memoryStore()
  const put = async (): Promise<never> => { throw new Error('a lifetime of nothing') }
  const declines = createDeclines({ state: { ...state, put }, sealer }, 0)
  await declines.add('asker', wanted.principal, wanted.provider)
  t.equal(await declines.has('asker', wanted.principal, wanted.provider), false)
})

t.test('a link that is about to expire is not handed out again', async t => {
  const elicitations = create(memoryStore().state)
  const first = await elicitations.request(client, wanted)
  advance(t, limits.ttlMs - 230_000)
  t.equal((await elicitations.request(client, wanted))?.id, first?.id)
  advance(t, 20_000)
  const second = await elicitations.request(client, wanted)
  t.not(second?.id, first?.id)
  t.ok(isPending((await elicitations.find(elicitationHash(first!.id)))!), 'the old one can still be used for its last minute')
  const { elicitations: long } = createBoth(memoryStore().state, 3_600_000)
  const { id } = (await long.request(client, wanted))!
  advance(t, 3_600_000 - 310_000)
  t.equal((await long.request(client, wanted))?.id, id, 'five minutes are enough')
})

t.test('a record ends once, and that is told once', async t => {
  const told: string[] = []
  const { elicitations } = createBoth(memoryStore().state, limits.ttlMs, event => { told.push(event) })
  const { id } = (await elicitations.request(client, wanted))!
  const hash = elicitationHash(id)
  t.equal(await elicitations.isLive(hash), true)
  const ends = await Promise.all([elicitations.end(hash, 'completed', null), elicitations.end(hash, 'declined', null), elicitations.end(hash, 'failed', null)])
  t.strictSame(ends, ['won', 'over', 'over'])
  t.strictSame(told, ['elicitation.created', 'elicitation.completed'])
  t.equal(await elicitations.isLive(hash), false, 'nobody need wait for it')
  t.equal((await elicitations.find(hash))?.status, 'completed')
  t.equal(await elicitations.end(elicitationHash('unknown'), 'completed', null), 'over')
})

t.test('what is stored tells neither id nor user', async t => {
  const rows: string[] = []
  const { state } = memoryStore()
  const elicitations = create({ ...state, put: async (key, value, ...rest) => { rows.push(`${key} ${value}`); return await state.put(key, value, ...rest) } })
  const { id } = (await elicitations.request(client, { ...wanted, principal: { issuer: 'canary-issuer', subject: 'canary-subject' } }))!
  t.equal(rows.length, 2)
  for (const row of rows) {
    t.notMatch(row, 'canary')
    t.notMatch(row, id)
  }
})

t.test('a link whose waiters were told to wait no longer is not handed out again', async t => {
  const elicitations = create(memoryStore().state)
  const first = (await elicitations.request(client, wanted))!
  const offered = await elicitations.offer(wanted, null)
  await elicitations.retire({ ...wanted.principal, subject: 'another' }, wanted.provider)
  t.equal((await elicitations.request(client, wanted))?.id, first.id, 'another user\'s connection is another matter')
  const { now } = Date
  t.intercept(Date, 'now', { value: () => now() - 5000, configurable: true })       // a clock that jumps back has no say
  const generation = await elicitations.retire(wanted.principal, wanted.provider)
  t.ok(isPending((await elicitations.find(elicitationHash(first.id)))!), 'it can still be used')
  const second = (await elicitations.request(client, wanted))!
  t.not(second.id, first.id)
  t.ok(first.generation < generation && generation <= second.generation)
  t.equal((await elicitations.request(client, wanted))?.id, second.id)
  t.equal((await elicitations.offer(wanted, null)).id, offered.id, 'what waits on the connections page was handed to nobody')
  t.ok(generation < await elicitations.retire(wanted.principal, wanted.provider))
})

t.test('the cool-down ends', async t => {
  const both = createBoth(memoryStore().state)
  const { elicitations } = both
  await decline(both, (await elicitations.request(client, wanted))!)
  t.equal(await elicitations.request(client, wanted), null)
  t.type((await elicitations.offer(wanted, null)).id, 'string', 'what waits on the connections page has none')
  advance(t, limits.coolDownMs + 1)
  t.type((await elicitations.request(client, wanted))?.id, 'string')
})

t.test('a record that the store did not take is not handed out', async t => {
  const { state } = memoryStore()
  const elicitations = create({ ...state, put: async (key, ...rest) => key.startsWith('elicitation:') ? null : await state.put(key, ...rest) })
  await t.rejects(elicitations.request(client, wanted), { code: 'FST_MCP_CONNECT_STORE_CONTENTION' })
})

t.test('what the user asks for counts for nobody, and a client may have what is there', async t => {
  const { state } = memoryStore()
  const limiter = { count: async () => { throw new RateLimitedError('elicitations', true, 1000) } }
  const elicitations = createElicitations({ state, sealer, declines: createDeclines({ state, sealer }, 0), limiter, audit: () => {} }, limits.ttlMs)
  await t.rejects(elicitations.offer(wanted, client), { code: 'FST_MCP_CONNECT_RATE_LIMITED' })
  const clients = [elicitations.offer(wanted, client), elicitations.offer(wanted, client)].map(one => one.catch(() => {}))
  t.ok(await elicitations.offer(wanted, null), 'at the same time, too')
  await Promise.all(clients)
  t.ok(await elicitations.offer(wanted, client))
})

t.test('a new record counts once, however often somebody else was quicker', async t => {
  const { state } = memoryStore()
  let counted = 0
  let lost = 0
  const put: StateStore['put'] = async (key, ...args) => key.startsWith('live-') && lost++ < 3 ? null : await state.put(key, ...args)
  const limiter = { count: async () => { counted++ } }
  const elicitations = createElicitations({ state: { ...state, put }, sealer, declines: createDeclines({ state, sealer }, 0), limiter, audit: () => {} }, limits.ttlMs)
  t.ok(await elicitations.request(client, wanted))
  t.strictSame([lost, counted], [4, 1])
})
