import t from 'tap'
import { createDisconnecting } from '../../lib/connections/disconnecting.js'
import { memoryStore } from '../../lib/index.js'
import { auditIdsOf } from '../../lib/principal.js'
import type { Provider } from '../../lib/types.js'
import { advance } from '../fixtures/clock.js'
import { connect, left, providerOf, start, startProcess, user } from '../fixtures/ending.js'
import { pause } from '../fixtures/pause.js'
import { plainClient } from '../fixtures/plain-client.js'
import { startFake } from '../fixtures/presets.js'

const MINUTE_MS = 60_000

t.test('COMPLAINTS: disconnect leaves the grant alive at the provider', async t => {
  const { store, fake, provider, process } = await start(t)
  const rows = left(t, store)
  const stored = await connect(process, fake, user('a'), provider)
  t.equal(await stored.works(), true)
  t.strictSame(await process.disconnecting.disconnect(user('a'), 'acme'), [{ account: undefined, atProvider: 'revoked' }])
  t.equal(await stored.works(), false)
  t.match(fake.requests.filter(({ path }) => path === '/revoke').map(({ parameters }) => parameters['token']), [stored.grant.refreshToken, stored.grant.accessToken])
  t.strictSame(process.audit.map(({ event }) => event), ['vault.written', 'vault.deleted', 'revocation.done'])
  t.match(process.audit.at(-1), { ...auditIdsOf(user('a')), provider: 'acme' })
  t.equal(rows(), 0, 'nothing of it is kept')
  t.strictSame(await process.disconnecting.disconnect(user('a'), 'acme'), [])
})

t.test('VLT-16 a provider that cannot be reached is told later, with longer and longer breaks, until it can', async t => {
  const { store, fake, provider, process } = await start(t)
  const rows = left(t, store)
  const stored = await connect(process, fake, user('a'), provider)
  fake.next('revocation', 'unavailable', 2)
  t.strictSame(await process.disconnecting.disconnect(user('a'), 'acme'), [{ account: undefined, atProvider: 'later' }])
  t.strictSame((await store.vault.list({ limit: 10 })).entries, [], 'it is deleted here all the same')
  t.equal(await stored.works(), true)
  const tries = (): number => fake.requests.filter(({ path }) => path === '/revoke').length
  await process.revocations.sweep()
  t.equal(tries(), 1, 'not before it is due')
  advance(t, MINUTE_MS)
  await process.revocations.sweep()
  t.equal(tries(), 2)
  advance(t, MINUTE_MS)
  await process.revocations.sweep()
  t.equal(tries(), 2, 'the second break is longer')
  advance(t, MINUTE_MS)
  await process.revocations.sweep()
  t.equal(await stored.works(), false)
  t.strictSame(process.told(), ['revocation.postponed', 'revocation.postponed', 'revocation.done'])
  t.equal(rows(), 0)
})

t.test('Retry-After is kept to', async t => {
  const fake = await startFake(t, { retryAfterSeconds: 1800 })
  const provider = providerOf(fake)
  const process = startProcess(memoryStore(), { acme: provider })
  const stored = await connect(process, fake, user('a'), provider)
  fake.next('revocation', 'limited')
  await process.disconnecting.disconnect(user('a'), 'acme')
  advance(t, 29 * MINUTE_MS)
  await process.revocations.sweep()
  t.equal(await stored.works(), true)
  advance(t, 2 * MINUTE_MS)
  await process.revocations.sweep()
  t.equal(await stored.works(), false)
})

t.test('two processes and one retry', async t => {
  const { store, fake, provider, process } = await start(t)
  const other = startProcess(store, { acme: provider })
  const stored = await Promise.all(Array.from({ length: 30 }, async (_, i) => await connect(process, fake, user(String(i)), provider)))
  fake.next('revocation', 'unavailable', stored.length)
  await Promise.all(stored.map(async (_, i) => await process.disconnecting.disconnect(user(String(i)), 'acme')))
  t.equal(fake.counts.revocations, 0)
  const before = fake.requests.length
  advance(t, 2 * MINUTE_MS)
  await Promise.all([process, other, process, other].map(({ revocations }) => revocations.sweep()))
  t.equal(fake.requests.slice(before).filter(({ path }) => path === '/revoke').length, 2 * stored.length, 'each token once')
  t.equal([process, other].flatMap(({ told }) => told()).filter(name => name === 'revocation.done').length, stored.length)
  t.strictSame(await Promise.all(stored.map(one => one.works())), stored.map(() => false))
})

t.test('a restart, and the retry goes on', async t => {
  const { store, fake, provider, process } = await start(t)
  const stored = await connect(process, fake, user('a'), provider)
  fake.next('revocation', 'drop')
  await process.disconnecting.disconnect(user('a'), 'acme')
  await process.revocations.close()
  advance(t, 2 * MINUTE_MS)
  await process.revocations.sweep()
  t.equal(await stored.works(), true, 'one that is closed does nothing')
  const restarted = startProcess(store, { acme: provider })
  await restarted.revocations.sweep()
  t.equal(await stored.works(), false)
  t.strictSame(restarted.told(), ['revocation.done'])
  t.match(restarted.audit[0], { ...auditIdsOf(user('a')), provider: 'acme' })
})

t.test('a process that is killed once it has deleted: another one tells the provider', async t => {
  const { store, fake, provider, process } = await start(t)
  const stored = await connect(process, fake, user('a'), provider)
  const prepared: unknown[] = []
  const killed = createDisconnecting({
    connections: process.connections,
    revocations: { ...process.revocations, carryOut: async one => { prepared.push(one); throw new Error('killed') } },
    providers: new Map(),
    endFlows: async () => {},
    endSessions: async () => {},
    audit: () => {}
  })
  await t.rejects(killed.disconnect(user('a'), 'acme'), /killed/)
  t.equal(prepared.length, 1)
  const other = startProcess(store, { acme: provider })
  await other.revocations.sweep()
  t.equal(await stored.works(), true, 'it may be at it still')
  advance(t, 3 * MINUTE_MS)
  await other.revocations.sweep()
  t.equal(await stored.works(), false)
})

t.test('a process that is killed before it has deleted: what is still connected is left alone', async t => {
  const { store, fake, provider, process } = await start(t)
  const stored = await connect(process, fake, user('a'), provider)
  t.intercept(store.vault, 'delete', { value: async () => { throw new Error('killed') } })
  await t.rejects(process.disconnecting.disconnect(user('a'), 'acme'))
  advance(t, 3 * MINUTE_MS)
  await process.revocations.sweep()
  t.equal(await stored.works(), true)
  t.strictSame(process.told(), ['revocation.spared'])
})

t.test('an account that is connected again meanwhile is left alone: servers may end all of it', async t => {
  const { fake, provider, process } = await start(t)
  const alice = { subject: 'alice' }
  const first = await connect(process, fake, user('a'), provider, 'acme', alice)
  fake.next('revocation', 'unavailable')
  t.match(await process.disconnecting.disconnect(user('a'), 'acme'), [{ account: alice, atProvider: 'later' }])
  await connect(process, fake, user('a'), provider, 'acme', alice)
  advance(t, 2 * MINUTE_MS)
  await process.revocations.sweep()
  t.equal(await first.works(), true)
  t.strictSame(process.told(), ['revocation.postponed', 'revocation.spared'])

  const other = await connect(process, fake, user('a'), provider, 'acme', { subject: 'bob' })
  t.match(await process.disconnecting.disconnect(user('a'), 'acme', other.id), [{ account: { subject: 'bob' }, atProvider: 'revoked' }], 'another account is another matter')
  const unknown = await connect(process, fake, user('a'), provider)
  t.match(await process.disconnecting.disconnect(user('a'), 'acme', unknown.id), [{ atProvider: 'spared' }], 'whose it is, nobody knows')
})

t.test('two keys of one registration: what the other one needs is left alone', async t => {
  const { store, fake, provider } = await start(t)
  const process = startProcess(store, { drive: provider, mail: provider, elsewhere: providerOf(fake, { clientId: 'another' }) })
  const alice = { subject: 'alice' }
  const drive = await connect(process, fake, user('a'), provider, 'drive', alice)
  const mail = await connect(process, fake, user('a'), provider, 'mail', alice)
  t.match(await process.disconnecting.disconnect(user('a'), 'drive'), [{ atProvider: 'spared' }])
  t.equal(await drive.works(), true)
  t.match(await process.disconnecting.disconnect(user('a'), 'mail'), [{ atProvider: 'revoked' }])
  t.equal(await mail.works(), false)
})

t.test('TEN-06 what is told later is told of each one\'s own provider, in the name of each one\'s own tenant', async t => {
  const fakes = await Promise.all([startFake(t), startFake(t)])
  const [first, second] = fakes.map(fake => providerOf(fake)) as [Provider, Provider]
  const store = memoryStore()
  const process = startProcess(store, { first, second })
  const owners = [user('a', 'T1'), user('a', 'T2'), user('b', 'T1')]
  for (const [i, [key, provider]] of Object.entries({ first, second }).entries()) {
    for (const owner of owners) await connect(process, fakes[i]!, owner, provider, key)
    fakes[i]!.next('revocation', 'unavailable', owners.length)
    for (const owner of owners) await process.disconnecting.disconnect(owner, key)
  }
  process.audit.length = 0
  advance(t, 2 * MINUTE_MS)
  await process.revocations.sweep()
  const expected = owners.flatMap(owner => ['first', 'second'].map(provider => JSON.stringify({ ...auditIdsOf(owner), provider })))
  t.strictSame(process.audit.filter(({ event }) => event === 'revocation.done').map(({ event, at, ...facts }) => JSON.stringify(facts)).sort(), expected.sort())
  for (const fake of fakes) t.equal(fake.counts.revocations, 2 * owners.length)
})

t.test('TEN-06 a provider that is not configured any more, or otherwise, is sent nothing', async t => {
  for (const changed of [{}, { issuer: 'https://other.example' }, { clientId: 'another' }]) {
    const { store, fake, provider, process } = await start(t)
    await connect(process, fake, user('a'), provider)
    fake.next('revocation', 'unavailable')
    await process.disconnecting.disconnect(user('a'), 'acme')
    const before = fake.requests.length
    const later = startProcess(store, 'issuer' in changed || 'clientId' in changed ? { acme: providerOf(fake, changed) } : {})
    advance(t, 2 * MINUTE_MS)
    await later.revocations.sweep()
    t.strictSame(later.told(), ['revocation.failed unconfigured'])
    t.match(later.audit[0], { ...auditIdsOf(user('a')), provider: 'acme' })
    await connect(process, fake, user('b'), provider)
    t.match(await later.disconnecting.disconnect(user('b'), 'acme'), [{ atProvider: 'unconfigured' }])
    t.strictSame(fake.requests.slice(before).filter(({ path }) => path === '/revoke'), [])
  }
})

t.test('VLT-16 a provider without a way, and what cannot be read', async t => {
  const fake = await startFake(t, { revocation: 'none' })
  const provider = providerOf(fake)
  const store = memoryStore()
  const process = startProcess(store, { acme: provider })
  await connect(process, fake, user('a'), provider)
  t.match(await process.disconnecting.disconnect(user('a'), 'acme'), [{ atProvider: 'unsupported' }])
  await connect(process, fake, user('a'), provider)
  const { entries: [entry] } = await store.vault.list({ limit: 1 })
  const { revision } = (await store.vault.get(entry!.owner, entry!.name))!
  await store.vault.put(entry!.owner, entry!.name, 'broken', revision)
  t.match(await process.disconnecting.disconnect(user('a'), 'acme'), [{ account: undefined, atProvider: 'unreadable' }])
  t.strictSame((await store.vault.list({ limit: 10 })).entries, [])
  t.strictSame(process.told(), ['revocation.failed unsupported', 'revocation.failed unreadable'])
})

t.test('a grant that is refreshed while it is being deleted: the newest tokens are ended', async t => {
  const { store, fake, provider, process } = await start(t)
  const stored = await connect(process, fake, user('a'), provider)
  const { reached, resume } = pause(t, store.vault, 'delete')
  const ended = process.disconnecting.disconnect(user('a'), 'acme')
  await reached
  const refreshed = (await plainClient(fake).refresh(stored.grant.refreshToken)).tokens as Record<string, string>
  await process.connections.change(user('a'), 'acme', stored, before => ({
    ...before, version: 1, grant: { ...before.grant, accessToken: refreshed['access_token']!, refreshToken: refreshed['refresh_token']! }
  }))
  resume()
  t.match(await ended, [{ atProvider: 'revoked' }])
  t.match(fake.requests.filter(({ path }) => path === '/revoke').map(({ parameters }) => parameters['token']), [refreshed['refresh_token'], refreshed['access_token']])
  t.strictSame(process.told(), ['revocation.done'])
  advance(t, 3 * MINUTE_MS)
  await process.revocations.sweep()
  t.strictSame(process.told(), ['revocation.done'], 'what was to be ended first is not waited for')
})

t.test('what is to be discarded later is, unless it is kept, or connected', async t => {
  const { fake, provider, process } = await start(t)
  const client = plainClient(fake)
  const discardLater = async (name: string): Promise<() => Promise<number>> => {
    const { access_token: accessToken } = (await client.connect()).tokens as Record<string, string>
    await process.revocations.discardLater(user('a'), 'acme', { issuer: provider.issuer, clientId: provider.clientId, grant: { accessToken: accessToken! } }, name, 15 * MINUTE_MS)
    return async () => (await client.api(accessToken)).status
  }
  const [undecided, kept] = [await discardLater('one'), await discardLater('two')]
  advance(t, 14 * MINUTE_MS)
  await process.revocations.sweep()
  await process.revocations.keep('two')
  t.strictSame([await undecided(), await kept()], [200, 200])
  advance(t, 2 * MINUTE_MS)
  await process.revocations.sweep()
  t.strictSame([await undecided(), await kept()], [401, 200])
})

t.test('what is to be done is sealed', async t => {
  const { store, fake, provider, process } = await start(t)
  const values: string[] = []
  const { put } = store.state
  t.intercept(store.state, 'put', { value: async (...args: Parameters<typeof put>) => { values.push(args[1]); return await put(...args) } })
  const stored = await connect(process, fake, user('canary-a'), provider)
  fake.next('revocation', 'unavailable')
  await process.disconnecting.disconnect(user('canary-a'), 'acme')
  t.ok(values.length > 1)
  for (const secret of [stored.grant.accessToken, stored.grant.refreshToken!, 'canary-a', fake.issuer]) t.notMatch(values.join(), secret)
})

t.test('while an entry cannot be read nobody knows what is connected: nothing is ended, and it is looked at again', async t => {
  const { store, fake, provider, process } = await start(t)
  const stored = await connect(process, fake, user('a'), provider)
  await process.revocations.prepare(user('a'), 'acme', stored)
  const { entries: [place] } = await store.vault.list({ limit: 1 })
  const { value, revision } = (await store.vault.get(place!.owner, place!.name))!
  const broken = await store.vault.put(place!.owner, place!.name, 'unreadable', revision)
  advance(t, 3 * MINUTE_MS)
  await process.revocations.sweep()
  t.equal(await stored.works(), true)
  t.strictSame(process.told(), ['revocation.postponed'])
  await store.vault.put(place!.owner, place!.name, value, broken)
  advance(t, 3 * MINUTE_MS)
  await process.revocations.sweep()
  t.equal(await stored.works(), true)
  t.equal(process.told().at(-1), 'revocation.spared')
})
