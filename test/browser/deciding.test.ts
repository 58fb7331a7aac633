import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { allowLoopbackHttp, defineProvider, memoryStore } from '../../lib/index.js'
import type { FakeProvider } from '../../lib/testing/index.js'
import type { McpConnectOptions, Provider, ProviderDefinition } from '../../lib/types.js'
import { findForm, title, type TestBrowser } from '../fixtures/browser.js'
import { advance } from '../fixtures/clock.js'
import { left } from '../fixtures/ending.js'
import { startWithFake } from '../fixtures/fake-server.js'
import { pause } from '../fixtures/pause.js'
import { startFake } from '../fixtures/presets.js'
import { refused } from '../fixtures/refused.js'
import { A, startServer, type TestServer } from '../fixtures/server.js'

const MINUTE_MS = 60_000
const bob = { subject: 'bob', label: 'bob@example.com' }
const carol = { subject: 'carol', label: 'carol@example.com' }

interface Started {
  readonly server: TestServer
  readonly browser: TestBrowser
  readonly fake: FakeProvider
  readonly provider: Provider
  /** The link that a button of the connections page leads to. */
  ask (ending?: string): Promise<string>
  /** From a link to the provider, and to where the browser is sent at the end. */
  follow (link: string): Promise<string>
  press (page: string, ending: string): Promise<string>
}

/** A is connected as Alice; whoever signs in from now on is Bob. */
async function start (t: Test, options: Partial<McpConnectOptions> = {}, change: (issuer: string) => Partial<ProviderDefinition> = () => ({ scopes: ['openid', 'email'] })): Promise<Started> {
  const fake = await startFake(t)
  const provider = defineProvider({
    name: 'Fake', issuer: fake.issuer, clientId: 'client', clientSecret: 'secret', apiOrigins: [fake.issuer], [allowLoopbackHttp]: true, ...change(fake.issuer)
  })
  const { server, browser, connect, follow } = await startWithFake(t, fake, provider, { options })
  await connect()
  fake.account = bob
  const press = async (page: string, ending: string): Promise<string> => String((await browser.press(page, ending)).headers.location)
  return { server, browser, fake, provider, follow, press, ask: async (ending = '/acme/connect') => await press('/connect', ending) }
}

t.test('the question ends with its link, and with the connection that it is about', async t => {
  const { server, browser, ask, follow, press } = await start(t)
  const link = await ask()
  const decline = findForm(await browser.get(link), '/decline')
  const declined = await follow(link)
  t.equal((await browser.get(declined)).statusCode, 200)
  t.equal((await browser.post(decline.action, decline.fields)).statusCode, 303)
  await refused(t, server, () => browser.get(declined), { status: 409, code: 'CONSUMED' })

  const late = await ask()
  advance(t, 9 * MINUTE_MS)
  const expired = await follow(late)
  t.equal((await browser.get(expired)).statusCode, 200)
  advance(t, 7 * MINUTE_MS)
  await refused(t, server, () => browser.get(expired), { status: 410, code: 'EXPIRED', event: 'elicitation.expired' })

  const disconnected = await follow(await ask())
  await press('/connect', '/acme/disconnect')
  await refused(t, server, () => browser.get(disconnected), { status: 409, code: 'DISCONNECTED' })
})

t.test('T06 what one registration was granted is not connected by another', async t => {
  const shared = { store: memoryStore(), keys: [randomBytes(32).toString('base64')] }
  const { browser, provider, ask, follow } = await start(t, shared)
  const question = await follow(await ask())
  for (const change of [{ issuer: 'https://other.example' }, { clientId: 'another' }]) {
    const { issuer, clientId } = { ...provider, ...change }
    const after = await startServer(t, { ...shared, providers: { acme: defineProvider({ name: 'Fake', issuer, clientId, clientSecret: 'secret', apiOrigins: ['https://api.example'], [allowLoopbackHttp]: true }) } })
    const same = after.browser(A)
    for (const [name, value] of browser.cookies) same.cookies.set(name, value)
    await refused(t, after, () => same.get(question), { status: 400, code: 'CONTEXT_MISMATCH', event: 'callback.context_mismatch' })
  }
  t.equal((await browser.get(question)).statusCode, 200)
})

t.test('a form decides on the account that was shown, and on no later one', async t => {
  const { server, browser, fake, ask, follow, press } = await start(t)
  const link = await ask()
  const question = await follow(link)
  const replace = findForm(await browser.get(question), '/account/replace')
  t.equal(await press(question, '/account/discard'), link)
  await refused(t, server, () => browser.get(question), { status: 409, code: 'CONSUMED' })
  fake.account = carol
  t.equal(await follow(link), question)
  await refused(t, server, () => browser.post(replace.action, replace.fields), { status: 403, code: 'CSRF_FAILED', event: 'csrf.failed' })
  t.match(await press(question, '/account/replace'), /\/done$/)
  t.match((await browser.get('/connect')).body, carol.label)
})

t.test('whoever may no longer connect decides nothing', async t => {
  let allowed = true
  const { server, browser, ask, follow } = await start(t, { authorize: () => allowed })
  const form = findForm(await browser.get(await follow(await ask())), '/account/add')
  t.match((await browser.get('/connect')).body, '/acme/add')
  allowed = false
  t.notMatch((await browser.get('/connect')).body, '/acme/add', 'nor is anything offered')
  await refused(t, server, () => browser.post(form.action, form.fields), { status: 403, code: 'NOT_AUTHORIZED' })
  allowed = true
  t.match((await browser.post(form.action, form.fields)).headers.location, /\/done$/)
})

t.test('an account that is not told replaces the one that is there, or is forgotten: beside it nobody could tell it apart', async t => {
  const { browser, fake, ask, follow } = await start(t, {}, issuer => ({ identity: { url: `${issuer}/userinfo`, subject: 'sub', labels: ['email'] } }))
  fake.next('identity', 'unavailable')
  const { body } = await browser.get(await follow(await ask()))
  t.match(body, 'an account that it does not name')
  for (const [choice, isOffered] of [['replace', true], ['add', false], ['discard', true]] as const) t.equal(body.includes(`/account/${choice}"`), isOffered, choice)
})

t.test('the account that is asked about is the one that was to be connected again', async t => {
  const { browser, fake, ask, follow, press } = await start(t)
  t.match(await follow(await ask('/acme/add')), /\/done$/)
  fake.account = carol
  const { body } = await browser.get('/connect')
  const again = [...body.matchAll(/action="([^"]*\/accounts\/[^"]*\/connect)"/g)].map(([, action]) => action!)
  t.equal(again.length, 2)
  const question = await follow(await ask(again[1]))
  const shown = (await browser.get(question)).body
  t.match(shown, bob.label)
  t.notMatch(shown, 'alice@example.com')
  t.match(await press(question, '/account/replace'), /\/done$/)
  const after = (await browser.get('/connect')).body
  for (const [label, isThere] of [['alice@example.com', true], [bob.label, false], [carol.label, true]] as const) t.equal(after.includes(label), isThere, label)
})

t.test('of two decisions at once one is carried out; one that fails can be made again', async t => {
  const { server, browser, ask, follow } = await start(t)
  const page = await browser.get(await follow(await ask()))
  const [replace, discard] = [findForm(page, '/account/replace'), findForm(page, '/account/discard')]
  const { put } = server.store.vault
  t.intercept(server.store.vault, 'put', { value: async () => { throw new Error('down') } })
  t.equal((await browser.post(replace.action, replace.fields)).statusCode, 503)
  t.intercept(server.store.vault, 'put', { value: put })

  const { reached, resume } = pause(t, server.store.vault, 'put')
  const answer = browser.post(replace.action, replace.fields)
  await reached
  await refused(t, server, () => browser.post(discard.action, discard.fields), { status: 409, code: 'HELD' })
  resume()
  t.match((await answer).headers.location, /\/done$/)
  t.match((await browser.get('/connect')).body, bob.label)
})

t.test('a disconnect while the account is being stored: it does not come back, and has ended at the provider', async t => {
  const { server, browser, fake, ask, follow } = await start(t)
  const add = findForm(await browser.get(await follow(await ask())), '/account/add')
  const { reached, resume } = pause(t, server.store.vault, 'put')
  const answer = browser.post(add.action, add.fields)
  await reached
  await server.app.mcpConnect.disconnect(A, 'acme')
  resume()
  t.equal(title(await answer), 'You have disconnected this')
  t.equal(await server.vaultRows(), '[]')
  t.equal(fake.requests.filter(({ path }) => path === '/revoke').length, 4)
  t.strictSame(server.audit.filter(({ event }) => event.startsWith('revocation.')).map(({ event }) => event), ['revocation.done', 'revocation.done'])
})

t.test('what nobody decides on is to be ended later, and what was decided is not', async t => {
  for (const choice of ['replace', 'add', 'discard']) {
    const { server, ask, follow, press } = await start(t)
    const rows = left(t, server.store)
    const question = await follow(await ask())
    t.equal(rows(), 1)
    await press(question, `/account/${choice}`)
    t.equal(rows(), 0, choice)
  }
})

t.test('INP-01 names of accounts are shown as text', async t => {
  const { browser, fake, ask, follow, press } = await start(t)
  fake.account = { subject: 'bob', label: '<b>bob</b>' }
  await press(await follow(await ask()), '/account/replace')
  fake.account = { subject: 'carol', label: '<b>carol</b>' }
  const { body } = await browser.get(await follow(await ask()))
  for (const name of ['bob', 'carol']) t.match(body, `&#60;b&#62;${name}`)
  t.notMatch(body, '<b>')
})

t.test('the grant of an account that another one takes the place of is ended at its provider; that of the same account is not', async t => {
  const { server, fake, ask, follow, press } = await start(t)
  t.match(await press(await follow(await ask()), '/account/replace'), /\/done$/)
  t.ok(fake.counts.revocations > 0)
  t.equal(server.audit.filter(({ event }) => event === 'revocation.done').length, 1)
  const { revocations } = fake.counts
  t.match(await follow(await ask()), /\/done$/)
  t.equal(fake.counts.revocations, revocations)
})
