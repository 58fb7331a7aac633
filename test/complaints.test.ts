/*
 * What users of other systems complain about in the life of a grant: refresh, vault, accounts, scopes. Disconnecting is in
 * browser/revoking.test.ts; many processes are in e2e/refresh.test.ts.
 */
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { memoryStore } from '../lib/index.js'
import { advance } from './fixtures/clock.js'
import { startWithFake } from './fixtures/fake-server.js'
import { fakePreset } from './fixtures/presets.js'

const DAY_MS = 24 * 60 * 60_000
const now = (): number => Date.now()
const newKey = (): string => randomBytes(32).toString('base64')
const DONE = { kind: 'done', text: /^200 / } as const

t.test('COMPLAINTS: a refresh race kills a rotating family, and the loser deletes the winner\'s token', async t => {
  const { fake, provider } = await fakePreset(t, 'atlassian', { now })
  const shared = { store: { ...memoryStore(), close: async () => {} }, keys: [newKey()] }
  const [one, other] = [await startWithFake(t, fake, provider, { options: shared }), await startWithFake(t, fake, provider, { options: shared })]
  await one.connect()
  for (let round = 1; round <= 5; round++) {
    advance(t, DAY_MS)
    fake.expireAccessTokens()
    for (const called of await Promise.all([one, other, one, other].map(({ call }) => call()))) t.match(called, DONE)
    t.match(fake.counts, { exchanges: 1, refreshes: round, reuses: 0 })
  }
})

t.test('COMPLAINTS: new tokens are lost after a later failure', async t => {
  const { fake, provider } = await fakePreset(t, 'atlassian', { now })
  const { call, connect } = await startWithFake(t, fake, provider)
  await connect()
  advance(t, DAY_MS)
  fake.next('api', 'broken')
  t.match(await call(), { kind: 'done', text: /^500 / })
  t.match(await call(), DONE)
  t.match(fake.counts, { refreshes: 1, reuses: 0 })
})

t.test('COMPLAINTS: the row expires with the access token', async t => {
  const { fake, provider } = await fakePreset(t, 'airtable', { now })
  const { server, call, connect } = await startWithFake(t, fake, provider)
  await connect()
  const rows = await server.vaultRows()
  advance(t, 300 * DAY_MS)
  t.equal(await server.vaultRows(), rows)
  t.match(await call(), DONE)
})

t.test('COMPLAINTS: a missing refresh token wipes the old one', async t => {
  const { fake, provider } = await fakePreset(t, 'spotify', { now, refreshTokens: 'silent', tellsScopes: 'exchange' })
  const { server, call, connect } = await startWithFake(t, fake, provider, { requires: { scopes: ['playlist-read-private'] } })
  await connect()
  for (const refreshes of [1, 2, 3]) {
    advance(t, DAY_MS)
    t.match(await call(), DONE)
    t.equal(fake.counts.refreshes, refreshes)
  }
  t.match((await server.browser({ issuer: 'https://login.example.com', subject: 'a', tenant: 'T1' }).get('/connect')).body, 'playlist-read-private', 'nor are scopes forgotten')
})

t.test('COMPLAINTS: any failure disconnects, and a dead grant is refreshed again and again', async t => {
  const { fake, provider } = await fakePreset(t, 'box', { now })
  const { server, call, connect } = await startWithFake(t, fake, provider)
  await connect()
  const rows = await server.vaultRows()
  for (const outcome of ['unavailable', 'limited', 'broken', 'garbage', 'drop', 'misregistered'] as const) {
    advance(t, DAY_MS)
    fake.next('refresh', outcome)
    t.match(await call(), { kind: 'error' }, outcome)
    t.equal(await server.vaultRows(), rows, `${outcome}: the grant stays`)
  }
  advance(t, DAY_MS)
  fake.revokeGrants()
  const before = fake.requests.length
  for (let i = 0; i < 20; i++) {
    t.match(await call(), { kind: 'link' })
    advance(t, DAY_MS)
  }
  t.equal(fake.requests.length, before + 1)
})

t.test('COMPLAINTS: key rotation orphans tokens', async t => {
  const { fake, provider } = await fakePreset(t, 'box', { now })
  const store = { ...memoryStore(), close: async () => {} }
  const [old, next] = [newKey(), newKey()]
  const before = await startWithFake(t, fake, provider, { options: { store, keys: [old] } })
  await before.connect()
  const after = await startWithFake(t, fake, provider, { options: { store, keys: [next, old] } })
  t.match(await after.call(), DONE)
  t.match(await after.server.app.mcpConnect.reseal(), { unreadable: {} })
  const last = await startWithFake(t, fake, provider, { options: { store, keys: [next] } })
  advance(t, DAY_MS)
  t.match(await last.call(), DONE, 'and is refreshed by the new key')
})

t.test('COMPLAINTS: tokens in logs', async t => {
  const { fake, provider } = await fakePreset(t, 'github', { now, refreshTokens: 'single-use', tellsExpiry: true, accessTokenTtlSeconds: 3600 })
  const { server, call, connect } = await startWithFake(t, fake, provider)
  await connect()
  for (const outcome of ['unavailable', 'misregistered', 'garbage', 'dead'] as const) {
    advance(t, DAY_MS)
    fake.next('refresh', outcome)
    await call()
  }
  const secrets = fake.requests.flatMap(({ parameters, headers }) => [
    ...['code', 'refresh_token', 'client_secret', 'code_verifier'].map(name => parameters[name]), String(headers.authorization ?? '').split(' ')[1]
  ]).filter(value => value !== undefined && value !== '')
  t.ok(secrets.length > 5)
  const said = server.log.join('') + JSON.stringify(server.audit)
  for (const secret of secrets) t.notOk(said.includes(secret!))
})

t.test('COMPLAINTS: endless re-consent. What a scope implies is granted, whatever it is called', async t => {
  for (const [name, scopes] of [['github', ['public_repo']], ['google', ['email']], ['microsoft', ['mail.read']]] as const) {
    const { fake, provider } = await fakePreset(t, name, { now })
    const { call, connect } = await startWithFake(t, fake, provider, { requires: { scopes } })
    await connect()
    t.match(await call(), DONE, name)
    t.equal(fake.counts.authorizations, 1)
  }
})

t.test('COMPLAINTS: endless re-consent. A scope that is withheld is asked for once, and then said', async t => {
  const { fake, provider } = await fakePreset(t, 'linear', { now, withheldScopes: ['issues:create'] })
  const { call, connect, follow, browser } = await startWithFake(t, fake, provider)
  await connect()
  for (let i = 0; i < 3; i++) t.match(await call(), { kind: 'error', text: /missing: issues:create/ })
  t.equal(fake.counts.authorizations, 1)
  const again = String((await browser.press('/connect', '/acme/connect')).headers.location)
  t.match(await follow(again), /\/done$/, 'the user can ask for it again')
  t.match(await call(), { kind: 'error' })
})
