import dns from 'node:dns'
import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers/promises'
import t, { type Test } from 'tap'
import { LEASE_MS } from '../../lib/connections/refreshing.js'
import { advance, stopClock } from '../fixtures/clock.js'
import { pause } from '../fixtures/pause.js'
import { startRefreshable, type Refreshable } from '../fixtures/refreshable.js'
import { json, type Answer } from '../fixtures/scripted-provider.js'

const HOUR_MS = 3600_000

/** A grant whose access token has expired. */
async function startExpired (t: Test, options?: Parameters<typeof startRefreshable>[1]): Promise<Refreshable> {
  const refreshable = await startRefreshable(t, options)
  stopClock(t)
  advance(t, HOUR_MS)
  return refreshable
}

/** Lets all that is under way in this process go on. */
const breathe = async (): Promise<void> => { for (let i = 0; i < 20; i++) await new Promise(resolve => setImmediate(resolve)) }

async function until (happened: () => boolean): Promise<void> {
  while (!happened()) await new Promise(resolve => setImmediate(resolve))
}

/** Answers one after another; from then on the last one. */
function inTurn (...answers: readonly Answer[]): Answer {
  let turn = 0
  return async at => await answers[Math.min(turn++, answers.length - 1)]!(at)
}

/** An answer that comes when it is told to. */
function held (answer: Answer): { answer: Answer, reached: Promise<void>, resume: () => void } {
  let arrive = (): void => {}
  let resume = (): void => {}
  const reached = new Promise<void>(resolve => { arrive = resolve })
  const resumed = new Promise<void>(resolve => { resume = resolve })
  return { reached, resume, answer: async at => { arrive(); await resumed; await answer(at) } }
}

const good: Answer = ({ response, good }) => json(response, { ...good, expires_in: 3600 })
const refused: Answer = ({ response, description }) => json(response, { error: 'invalid_grant', error_description: description }, 400)
const down: Answer = ({ response, description }) => json(response, { error: description }, 503)

/** Has the pauses between attempts to store be as short as can be. */
function hurry (t: Test): number[] {
  const { setTimeout } = timers
  const pauses: number[] = []
  timers.setTimeout = (async (ms: number, value?: unknown, options?: object) => {
    if (options !== undefined) return await setTimeout(ms, value, options)
    pauses.push(ms)
    return await setTimeout(0)
  }) as typeof setTimeout
  syncBuiltinESMExports()
  t.teardown(() => {
    timers.setTimeout = setTimeout
    syncBuiltinESMExports()
  })
  return pauses
}

t.test('REC-08 a hundred callers in two processes: one refresh, and all have what it gave', async t => {
  const { scripted, place, stored, process, now, presented } = await startExpired(t)
  const one = process()
  const other = process()
  const all = await Promise.all(Array.from({ length: 50 }, () => [one.fresh(place, stored), other.fresh(place, stored)]).flat())
  t.strictSame(presented(), [stored.grant.refreshToken])
  const latest = await now()
  t.match(latest, { version: 1, id: stored.id, connectedAt: stored.connectedAt })
  t.not(latest!.grant.refreshToken, stored.grant.refreshToken, 'the new refresh token is kept')
  for (const fresh of all) t.strictSame(fresh, { kind: 'fresh', stored: latest })
  t.strictSame([...one.audit, ...other.audit], ['refresh.ok'])
  t.equal(scripted.tokenRequests, 2)
})

t.test('a token that is due works on, and is refreshed beside; one that is fresh is left alone', async t => {
  const { place, stored, process, now, presented } = await startRefreshable(t)
  const one = process()
  t.strictSame(await one.fresh(place, stored), { kind: 'fresh', stored })
  await breathe()
  t.equal(presented().length, 0)
  advance(t, HOUR_MS - 60_000)
  t.strictSame(await one.fresh(place, stored), { kind: 'fresh', stored }, 'nobody waits')
  await until(() => one.audit.length > 0)
  t.match(await now(), { version: 1 })
})

t.test('what the answer omits stays as it was; what was disconnected meanwhile is taken back', async t => {
  const { scripted, place, stored, process, now, disconnect } = await startExpired(t, { grant: { scopes: ['a', 'b'], account: { subject: 'alice' } } })
  scripted.script = { refresh: ({ response, good: { refresh_token: _, ...others } }) => json(response, { ...others, expires_in: 3600 }) }
  const one = process()
  await one.fresh(place, stored)
  t.match(await now(), { version: 1, grant: { refreshToken: stored.grant.refreshToken!, scopes: ['a', 'b'], account: { subject: 'alice' } } })
  advance(t, HOUR_MS)
  const answer = held(good)
  scripted.script = { refresh: answer.answer }
  const refreshed = one.fresh(place, (await now())!)
  await answer.reached
  await disconnect()
  answer.resume()
  t.strictSame(await refreshed, { kind: 'ended' })
  t.equal(await now(), null)
  t.match(one.discarded, [{ accessToken: /./ }])
  t.strictSame(one.audit, ['refresh.ok', 'refresh.lost_race'])
})

t.test('OAR-24 no new access token is used before its refresh token is stored', async t => {
  const { store, scripted, place, stored, process, now } = await startExpired(t)
  const put = pause(t, store.vault, 'put')
  const one = process()
  let fresh: unknown
  one.fresh(place, stored).then(result => { fresh = result }, () => {})
  const used = one.connection(stored).fetch(`${scripted.issuer}/api/issues`)
  await put.reached
  await breathe()
  t.equal(fresh, undefined)
  t.notOk(scripted.requests.some(({ path }) => path === '/api/issues'))
  put.resume()
  t.equal((await used).status, 200)
  t.strictSame(fresh, { kind: 'fresh', stored: await now() })
})

t.test('REC-10 who is refused, and finds that another has refreshed, uses what that one got: nobody is asked', async t => {
  const { scripted, place, stored, process, now, presented } = await startExpired(t)
  const late = held(refused)
  scripted.script = { refresh: inTurn(late.answer, good) }
  const slow = process()
  const quick = process()
  const lost = slow.fresh(place, stored)
  await late.reached
  advance(t, LEASE_MS)                  // the store forgets the lease of the slow one
  const won = await quick.fresh(place, stored)
  late.resume()
  t.match(won, { kind: 'fresh', stored: { version: 1 } })
  t.strictSame(await lost, won)
  t.strictSame(await now(), (won as { stored: unknown }).stored)
  t.equal(presented().length, 2)
  t.strictSame([...slow.audit, ...quick.audit], ['refresh.lost_race', 'refresh.ok'])
})

t.test('a slow holder that has lost its lease overwrites nothing', async t => {
  const { scripted, place, stored, process, now } = await startExpired(t)
  const late = held(good)
  scripted.script = { refresh: inTurn(late.answer, good) }
  const slow = process()
  const quick = process()
  const lost = slow.fresh(place, stored)
  await late.reached
  advance(t, LEASE_MS)
  const won = await quick.fresh(place, stored)
  late.resume()
  t.strictSame(await lost, won)
  t.strictSame(await now(), (won as { stored: unknown }).stored)
  t.strictSame(slow.audit, ['refresh.lost_race'])
})

t.test('nor does it end the lease of the next one, whom nobody disturbs', async t => {
  const { store, scripted, place, stored, process, presented } = await startExpired(t)
  const first = held(down)
  const second = held(good)
  scripted.script = { refresh: inTurn(first.answer, second.answer) }
  const slow = process()
  const lost = slow.fresh(place, stored)
  await first.reached
  advance(t, LEASE_MS)
  const next = process().fresh(place, stored)
  await second.reached
  first.resume()
  t.match(await lost, { kind: 'later' })
  const { put } = store.state
  let tries = 0
  const hasTriedTwice = new Promise<void>(resolve => {
    t.intercept(store.state, 'put', {
      value: async (...args: Parameters<typeof put>) => {
        const revision = await put(...args)
        if (args[0].startsWith('refresh-lease:') && revision === null && ++tries === 2) resolve()
        return revision
      }
    })
  })
  const third = process()
  const waiting = third.fresh(place, stored)
  await hasTriedTwice
  t.equal(presented().length, 2, 'a third one waits')
  second.resume()
  t.strictSame(await waiting, await next)
  t.equal(presented().length, 2)
})

t.test('a holder whom the store keeps waiting takes more time before it asks; one that is too late does not ask', async t => {
  for (const [lost, kind] of [[false, 'fresh'], [true, 'later']] as const) {
    await t.test(kind, async t => {
      const { store, place, stored, process, presented } = await startExpired(t)
      const look = pause(t, store.state, 'get', { when: key => key.startsWith('refresh-pause:') })
      const fresh = process().fresh(place, stored)
      await look.reached
      const { now } = performance
      t.intercept(performance, 'now', { value: () => now.call(performance) + 10_000 })
      if (lost) advance(t, LEASE_MS)
      look.resume()
      t.match(await fresh, { kind })
      t.equal(presented().length, lost ? 0 : 1)
    })
  }
})

t.test('who has waited long for the answer holds the lease until it is stored: nobody else comes with the refresh token that is used up', async t => {
  const { store, scripted, place, stored, process } = await startExpired(t)
  const answer = held(good)
  scripted.script = { refresh: answer.answer }
  const fresh = process().fresh(place, stored)
  await answer.reached
  const order: string[] = []
  const { state, vault } = store
  const { put } = state
  const { put: write } = vault
  t.intercept(state, 'put', { value: async (...args: Parameters<typeof put>) => { if (args[0].startsWith('refresh-lease:')) order.push('lease'); return await put(...args) } })
  t.intercept(vault, 'put', { value: async (...args: Parameters<typeof write>) => { order.push('vault'); return await write(...args) } })
  const { now } = performance
  t.intercept(performance, 'now', { value: () => now.call(performance) + 9000 })
  answer.resume()
  t.match(await fresh, { kind: 'fresh' })
  t.strictSame(order, ['lease', 'vault'])
})

t.test('"held by another" and "the store is down" are told apart', async t => {
  const { store, scripted, place, stored, process, presented } = await startExpired(t)
  const answer = held(good)
  scripted.script = { refresh: answer.answer }
  const holder = process().fresh(place, stored)
  await answer.reached
  const { put } = store.state
  store.state.put = async () => { throw new Error('down') }
  const third = process()
  await t.rejects(third.fresh(place, stored), { code: 'FST_MCP_CONNECT_ADAPTER_FAILED' }, 'nobody asks without a lease')
  store.state.put = put
  const waiting = third.fresh(place, stored)
  answer.resume()
  t.match(await holder, { kind: 'fresh' })
  t.strictSame(await waiting, await holder)
  t.equal(presented().length, 1)
})

t.test('while the state store is down, a token that is due is used', async t => {
  const { store, place, stored, process } = await startRefreshable(t)
  advance(t, HOUR_MS - 60_000)
  store.state.put = async () => { throw new Error('down') }
  const one = process()
  t.strictSame(await one.fresh(place, stored), { kind: 'fresh', stored })
  await until(() => one.log.length > 0)
  t.match(one.log.join(''), /"level":40.*could not be refreshed ahead of its expiry/)
})

t.test('OAR-21 invalid_grant: the grant has ended, whoever asks, and the provider is not asked again', async t => {
  const { scripted, place, stored, process, now, presented } = await startExpired(t)
  scripted.script = { refresh: refused }
  const one = process()
  t.strictSame(await one.fresh(place, stored), { kind: 'ended' })
  const dead = await now()
  t.match(dead, { id: stored.id, version: 0, deadAt: Number })
  for (const seen of [stored, dead!]) t.strictSame(await process().fresh(place, seen), { kind: 'ended' })
  await t.rejects(one.connection(stored).fetch(`${scripted.issuer}/api/issues`), { code: 'FST_MCP_CONNECT_GRANT_ENDED' })
  await t.rejects(one.connection(stored).accessToken(), { code: 'FST_MCP_CONNECT_GRANT_ENDED' })
  t.equal(presented().length, 1)
  t.strictSame(one.audit, ['refresh.invalid_grant'])
})

t.test('OAR-22 503, a time-out, no address, a broken connection: the grant is as it was, and the provider is left alone for a while', async t => {
  const failures: Record<string, (t: Test, refreshable: Refreshable) => void> = {
    'status 503': (_t, { scripted }) => { scripted.script = { refresh: down } },
    timeout: (t, { scripted }) => {
      const { timeout } = AbortSignal
      t.intercept(AbortSignal, 'timeout', { value: () => timeout.call(AbortSignal, 3000) })
      scripted.script = { refresh: () => {} }
    },
    ENOTFOUND: (t, { scripted }) => {
      scripted.metadata['token_endpoint'] = `http://localhost:${new URL(scripted.issuer).port}/token`
      t.intercept(dns, 'lookup', { value: (_name: string, _options: object, done: (error: Error) => void) => done(Object.assign(new Error('no such host'), { code: 'ENOTFOUND' })) })
    },
    UND_ERR_SOCKET: (_t, { scripted }) => { scripted.script = { refresh: ({ request }) => request.socket.destroy() } },
    'what is no token response': (_t, { scripted }) => { scripted.script = { refresh: ({ response }) => response.end('<p>') } }
  }
  for (const [name, fail] of Object.entries(failures)) {
    await t.test(name, async t => {
      const refreshable = await startExpired(t)
      const { store, scripted, place, stored, process, now } = refreshable
      const rows = async (): Promise<unknown> => {
        const { entries } = await store.vault.list({ limit: 9 })
        return await Promise.all(entries.map(({ owner, name }) => store.vault.get(owner, name)))
      }
      const before = await rows()
      await t.test('fails', async t => {
        fail(t, refreshable)
        const one = process()
        const { length } = scripted.requests
        const fresh = await one.fresh(place, stored)
        t.match(fresh, { kind: 'later', retryAfterMs: Number })
        t.strictSame(one.audit, ['refresh.failed'])
        if (!name.startsWith('what')) t.match(one.log.join(''), name)
        t.strictSame(await rows(), before, 'the vault is unchanged')
        const asked = scripted.requests.length
        t.ok(asked - length <= 2)
        t.match(await one.fresh(place, stored), { kind: 'later' })
        t.match(await process().fresh(place, stored), { kind: 'later' }, 'nor do other processes ask')
        await t.rejects(one.connection(stored).fetch(`${scripted.issuer}/api/issues`), { code: 'FST_MCP_CONNECT_REFRESH_FAILED' })
        t.equal(scripted.tokenRequests - 1, name === 'ENOTFOUND' ? 0 : 1)
      })
      delete scripted.metadata['token_endpoint']
      scripted.metadata['token_endpoint'] = `${scripted.issuer}/token`
      scripted.script = {}
      advance(t, 60_000)
      t.match(await process().fresh(place, stored), { kind: 'fresh', stored: { version: 1 } }, 'then it works')
      t.match(await now(), { version: 1 })
    })
  }
})

t.test('Retry-After is kept; without it each pause is longer than the one before, and success ends them', async t => {
  const { scripted, place, stored, process, presented } = await startExpired(t)
  scripted.script = { refresh: ({ response, description }) => json(response.setHeader('retry-after', '120'), { error: description }, 429) }
  t.match(await process().fresh(place, stored), { kind: 'later', retryAfterMs: 120_000 })
  scripted.script = { refresh: down }
  advance(t, 119_000)
  t.match(await process().fresh(place, stored), { kind: 'later' })
  t.equal(presented().length, 1)
  let last = 0
  for (let failures = 2; failures < 6; failures++) {
    advance(t, 60_000)
    const fresh = await process().fresh(place, stored)
    t.equal(presented().length, failures)
    if (!('retryAfterMs' in fresh)) throw new Error(fresh.kind)
    t.ok(fresh.retryAfterMs > last && fresh.retryAfterMs < 60_000, `${fresh.retryAfterMs} ms`)
    last = fresh.retryAfterMs
  }
  scripted.script = {}
  advance(t, 60_000)
  const fresh = await process().fresh(place, stored)
  if (fresh.kind !== 'fresh') throw new Error(fresh.kind)
  scripted.script = { refresh: down }
  advance(t, HOUR_MS)
  const again = await process().fresh(place, fresh.stored)
  t.ok('retryAfterMs' in again && again.retryAfterMs <= 1000, 'as if it were the first time')
})

t.test('a registration that is not accepted is told to the operator once, and tells nothing of the grant', async t => {
  const { scripted, place, stored, process, now, presented } = await startExpired(t)
  scripted.script = { refresh: ({ response, description }) => json(response, { error: 'invalid_client', error_description: description }, 401) }
  const one = process()
  const errors = (): number => one.log.filter(line => line.includes('"level":50') && line.includes("does not accept this server's registration: invalid_client")).length
  for (let round = 1; round < 4; round++) {
    for (let i = 0; i < 3; i++) t.match(await one.fresh(place, stored), { kind: 'misregistered', retryAfterMs: Number })
    t.equal(presented().length, round, 'once a minute')
    t.equal(errors(), 1)
    advance(t, 61_000)
  }
  t.strictSame(await now(), stored)
  scripted.script = {}
  const mended = await one.fresh(place, stored)
  if (mended.kind !== 'fresh') throw new Error(mended.kind)
  scripted.script = { refresh: ({ response }) => json(response, { error: 'unauthorized_client' }, 400) }
  advance(t, HOUR_MS)
  t.match(await one.fresh(place, mended.stored), { kind: 'misregistered' })
  t.equal(one.log.filter(line => line.includes('"level":50')).length, 2, 'what worked in between is told anew')
})

t.test('a vault that fails after the provider has answered, or is contended, is tried again', async t => {
  const { store, place, stored, process, now, presented } = await startExpired(t)
  const pauses = hurry(t)
  const { put, get } = store.vault
  let failures = 4
  let answered = false
  let lost = 20
  store.vault.put = async (...args) => {
    answered = true
    if (lost-- > 0) return null
    if (failures-- > 0) throw new Error('down')
    return await put(...args)
  }
  store.vault.get = async (...args) => {
    if (answered && lost < 0 && failures > 0 && failures-- > 0) throw new Error('down')
    return await get(...args)
  }
  const one = process()
  t.match(await one.fresh(place, stored), { kind: 'fresh', stored: { version: 1 } })
  store.vault.get = get
  t.match(await now(), { version: 1 })
  t.equal(presented().length, 1, 'a refresh token is used once')
  t.strictSame(one.audit, ['refresh.ok'])
  t.match(one.log.join(''), /"level":40.*could not be stored; it is tried again/)
  t.strictSame(pauses, [50, 200, 1000, 3000])
})

t.test('one that fails on is told as what it is: a grant that may be lost', async t => {
  const { store, place, stored, process, now } = await startExpired(t)
  hurry(t)
  store.vault.put = async () => { throw new Error('down') }
  const one = process()
  await t.rejects(one.fresh(place, stored), { code: 'FST_MCP_CONNECT_ADAPTER_FAILED' })
  t.strictSame(one.audit, ['refresh.unsaved'])
  t.strictSame(await now(), stored)
})

t.test('a write whose answer was lost has been made', async t => {
  const { store, place, stored, process, now, presented } = await startExpired(t)
  hurry(t)
  const { put, get } = store.vault
  let lost = false
  store.vault.put = async (...args) => {
    const revision = await put(...args)
    if (lost) return revision
    lost = true
    store.vault.get = async () => { store.vault.get = get; throw new Error('down') }
    throw new Error('connection reset')
  }
  t.match(await process().fresh(place, stored), { kind: 'fresh', stored: { version: 1 } })
  t.match(await now(), { version: 1 })
  t.equal(presented().length, 1)
})

t.test('close waits for a refresh that is under way, and stores what it gives; none begins after it', async t => {
  const { scripted, place, stored, process, now, presented } = await startExpired(t)
  const answer = held(good)
  scripted.script = { refresh: answer.answer }
  const one = process()
  const other = process()
  const fresh = one.fresh(place, stored)
  await answer.reached
  const waiting = other.fresh(place, stored)
  await breathe()
  await other.close()
  t.match(await waiting, { kind: 'later' }, 'who only waits for another process goes at once')
  let closed = false
  const closing = one.close().then(() => { closed = true })
  await breathe()
  t.equal(closed, false)
  answer.resume()
  await closing
  t.match(await now(), { version: 1 })
  t.match(await fresh, { kind: 'fresh' })
  advance(t, HOUR_MS)
  t.match(await one.fresh(place, (await now())!), { kind: 'later' })
  t.equal(presented().length, 1)
})

t.test('REC-14 clocks that are five minutes apart: nobody is asked, and no token lives for ever', async t => {
  for (const minutes of [5, -5]) {
    for (const lifetimeMs of [HOUR_MS, 2 * 60_000]) {
      await t.test(`${minutes} minutes, tokens of ${lifetimeMs / 60_000}`, async t => {
        const { scripted, place, stored: { grant }, process, now, presented } = await startRefreshable(t, { grant: { expiresAt: Date.now() + lifetimeMs } })
        const stored = (await now())!
        advance(t, minutes * 60_000)
        const one = process()
        const fresh = await one.fresh(place, stored)
        t.match(fresh, { kind: 'fresh' })
        const early = minutes > 0 && lifetimeMs < HOUR_MS
        if (early) t.match(fresh, { stored: { version: 1 } }, 'what has expired by its clock is refreshed')
        else t.strictSame(fresh, { kind: 'fresh', stored })
        t.equal(presented().length, early ? 1 : 0)
        if (early) return
        // Whatever its clock says, the API has the last word.
        scripted.answers.set('/api/issues', ({ headers }, response) => json(response, {}, headers.authorization === `Bearer ${grant.accessToken}` ? 401 : 200))
        advance(t, lifetimeMs / 2)
        t.equal((await one.connection(stored).fetch(`${scripted.issuer}/api/issues`)).status, 200)
        t.match(await now(), { version: 1 })
        advance(t, HOUR_MS)
        t.match(await one.fresh(place, (await now())!), { kind: 'fresh', stored: { version: 2 } })
      })
    }
  }
})

t.test('a handle that is older than several tokens gets one that works', async t => {
  const { scripted, place, stored, process, now, presented } = await startExpired(t)
  await process().fresh(place, stored)
  advance(t, HOUR_MS)
  const one = process()
  const connection = one.connection(stored)
  t.equal(await connection.accessToken(), (await now())!.grant.accessToken)
  t.match(await now(), { version: 2 }, 'what had been stored meanwhile has expired too')
  t.ok(connection.expiresAt! > Date.now())
  t.equal((await connection.fetch(`${scripted.issuer}/api/issues`)).status, 200)
  t.equal(presented().length, 2)
})

t.test('credentials of another registration are not sent with a refresh token', async t => {
  const { place, stored, process, presented } = await startExpired(t)
  const other = { ...place, provider: { ...place.provider, clientId: 'web' } }
  t.strictSame(await process().fresh(other, stored), { kind: 'ended' })
  t.strictSame(await process().renew(other, stored), { kind: 'fresh', stored })
  t.equal(presented().length, 0)
})

t.test('OAR-18 without a refresh token a grant ends with its access token', async t => {
  const { place, stored, process, presented } = await startRefreshable(t, { grant: { refreshToken: undefined } as never })
  t.strictSame(await process().fresh(place, stored), { kind: 'fresh', stored })
  advance(t, HOUR_MS - 1000)
  t.strictSame(await process().fresh(place, stored), { kind: 'fresh', stored }, 'to its last second')
  advance(t, 1000)
  t.strictSame(await process().fresh(place, stored), { kind: 'ended' })
  t.equal(presented().length, 0)
})
