import { randomBytes } from 'node:crypto'
import t from 'tap'
import { memoryStore } from '../../lib/index.js'
import { auditIdsOf } from '../../lib/principal.js'
import { createBrowserSessions, type BrowserSessions } from '../../lib/state/browser-sessions.js'
import type { StateStore } from '../../lib/storage.js'
import { createKeyRing } from '../../lib/vault/key-ring.js'
import { createSealer } from '../../lib/vault/sealer.js'
import { advance } from '../fixtures/clock.js'

const MINUTE_MS = 60_000
const sealer = createSealer(createKeyRing([randomBytes(32)]))
const user = { principal: { issuer: 'i', subject: 'canary-subject' }, label: 'canary@example.com' }
const create = (state: StateStore, lifetimes = { idleMs: 10 * MINUTE_MS, absoluteMs: 60 * MINUTE_MS }): BrowserSessions =>
  createBrowserSessions({ state, sealer, audit: () => {} }, lifetimes)

t.test('a session is found by its id alone, and nothing of it is stored in the clear', async t => {
  const { state } = memoryStore()
  const rows: string[] = []
  const sessions = create({ ...state, put: async (...args) => { rows.push(args[0], args[1]); return await state.put(...args) } })
  const id = await sessions.begin(user)
  t.match(id, /^[\w-]{43}$/)
  t.match(await sessions.find(id), user)
  t.equal(await sessions.find(`${id.slice(0, -1)}${id.endsWith('A') ? 'B' : 'A'}`), null)
  t.notMatch(rows.join(), new RegExp(`canary|${id}`))
  await sessions.end(id)
  t.equal(await sessions.find(id), null)
  await sessions.end(id)
})

t.test('it is written once in a while, not at each request, and never beyond its end', async t => {
  const { state } = memoryStore()
  const ttls: number[] = []
  const sessions = create({ ...state, put: async (key, value, expected, ttlMs) => { ttls.push(ttlMs!); return await state.put(key, value, expected, ttlMs) } },
    { idleMs: 10 * MINUTE_MS, absoluteMs: 12 * MINUTE_MS })
  const id = await sessions.begin(user)
  ttls.length = 0
  for (let i = 0; i < 5; i++) await sessions.find(id)
  t.strictSame(ttls, [])
  advance(t, 5 * MINUTE_MS)
  for (let i = 0; i < 5; i++) t.ok(await sessions.find(id))
  t.equal(ttls.length, 1)
  t.ok(ttls[0]! <= 7 * MINUTE_MS, 'twelve minutes after it began, it is over')
})

t.test('the store keeps it for as long as it may be idle, and no longer than its lifetime', async t => {
  const { state } = memoryStore()
  for (const [idleMs, absoluteMs] of [[10 * MINUTE_MS, 60 * MINUTE_MS], [60 * MINUTE_MS, 10 * MINUTE_MS]] as const) {
    const ttls: unknown[] = []
    const put: StateStore['put'] = async (key, value, expected, ttlMs) => {
      if (key.startsWith('browser-session:')) ttls.push(ttlMs)
      return await state.put(key, value, expected, ttlMs)
    }
    await create({ ...state, put }, { idleMs, absoluteMs }).begin(user)
    t.strictSame(ttls, [10 * MINUTE_MS])
  }
})

t.test('one that is used lives until its end', async t => {
  const { state } = memoryStore()
  const id = await create(state).begin(user)
  for (let minutes = 9; minutes < 60; minutes += 9) {
    advance(t, 9 * MINUTE_MS)
    t.ok(await create(state).find(id), `after ${minutes} minutes`)
  }
})

t.test('one that the store did not take is not begun', async t => {
  const { state } = memoryStore()
  const put: StateStore['put'] = async (key, ...args) => key.startsWith('browser-session:') ? null : await state.put(key, ...args)
  await t.rejects(create({ ...state, put }).begin(user), { code: 'FST_MCP_CONNECT_STORE_CONTENTION' })
})

t.test('one that is ended while it is used stays ended', async t => {
  const { state } = memoryStore()
  let id = ''
  let end: (() => Promise<void>) | null = null
  const sessions = create({
    ...state,
    put: async (...args) => {
      await end?.()
      return await state.put(...args)
    }
  })
  id = await sessions.begin(user)
  end = async () => {
    end = null
    await sessions.end(id)
  }
  advance(t, 5 * MINUTE_MS)
  await sessions.find(id)
  t.equal(end, null, 'it was ended in the middle of a renewal')
  t.equal(await sessions.find(id), null)
})

t.test('one that is used while it is ended is ended, too', async t => {
  const { state } = memoryStore()
  let renewed = false
  const sessions = create({
    ...state,
    delete: async (...args) => {
      if (!renewed) {
        renewed = true
        await sessions.find(id)
      }
      return await state.delete(...args)
    }
  })
  const id = await sessions.begin(user)
  advance(t, 5 * MINUTE_MS)
  await sessions.end(id)
  t.equal(renewed, true)
  t.equal(await sessions.find(id), null)
})

t.test('its lifetimes hold by our clock as well, should the store keep it for longer', async t => {
  const { state } = memoryStore()
  const sessions = create({ ...state, put: async (key, value, expected) => await state.put(key, value, expected) }, { idleMs: 10 * MINUTE_MS, absoluteMs: 12 * MINUTE_MS })
  const id = await sessions.begin(user)
  await t.test('idle', async t => {
    advance(t, 10 * MINUTE_MS)
    t.equal(await sessions.find(id), null)
  })
  await t.test('used, and at its end', async t => {
    advance(t, 9 * MINUTE_MS)
    t.ok(await sessions.find(id))
  })
  await t.test('at its end', async t => {
    advance(t, 12 * MINUTE_MS)
    t.equal(await sessions.find(id), null)
  })
})

t.test('a store that has lost who was ended lets nobody in, whether or not anybody was', async t => {
  const { state } = memoryStore()
  const id = await create(state).begin(user)
  t.ok(await create(state).find(id))
  const lossy = create({ ...state, get: async key => key.startsWith('browser-session-generation') ? null : await state.get(key) })
  t.equal(await lossy.find(id), null)
})

t.test('ending all sessions of a principal reaches those of other processes', async t => {
  const { state } = memoryStore()
  const [one, two] = [create(state), create(state)]
  const ids = await Promise.all([one.begin(user), two.begin(user), one.begin({ ...user, principal: { ...user.principal, tenant: 't' } })])
  await two.endAll(user.principal)
  t.equal(await one.find(ids[0]), null)
  t.equal(await two.find(ids[1]), null)
  t.ok(await one.find(ids[2]), 'another tenant is another principal')
  t.ok(await two.find(await one.begin(user)), 'and none that begins later')
})

t.test('LOG-10 who signs in and out is told, once each, and not in the clear', async t => {
  const told: unknown[] = []
  const sessions = createBrowserSessions({ state: memoryStore().state, sealer, audit: (event, facts) => told.push([event, facts]) }, { idleMs: MINUTE_MS, absoluteMs: MINUTE_MS })
  const id = await sessions.begin(user)
  await sessions.find(id)
  await sessions.end(id)
  await sessions.end(id)
  await sessions.endAll(user.principal)
  const ids = auditIdsOf(user.principal)
  t.strictSame(told, [['session.started', ids], ['session.ended', ids], ['session.revoked', ids]])
  t.notMatch(JSON.stringify(told), 'canary')
})
