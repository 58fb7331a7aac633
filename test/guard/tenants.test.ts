import { createHash, randomBytes } from 'node:crypto'
import t from 'tap'
import { memoryStore } from '../../lib/index.js'
import { hashPrincipal } from '../../lib/principal.js'
import type { Principal, ProviderDefinition } from '../../lib/types.js'
import { authorizationUrl, findForm } from '../fixtures/browser.js'
import { refused } from '../fixtures/refused.js'
import { startScriptedProvider, type ClientId } from '../fixtures/scripted-provider.js'
import { A, A2, A3, B, startServer } from '../fixtures/server.js'
import { watch } from '../fixtures/watch.js'

t.test('TEN-01 the same subject in another tenant, or at another issuer, is not connected', async t => {
  const server = await startServer(t)
  const { url, session } = await server.elicit(A)
  const browser = server.browser(A)
  await browser.get((await server.untilCallback(browser, url)).href)
  t.match(await session.client.callTool({ name: 'issues' }), { content: [{ text: /rabbit hole/ }] })
  for (const other of [A2, A3, B]) {
    await t.rejects((await server.openSession({ user: other })).client.callTool({ name: 'issues' }), { code: -32042 })
    t.notMatch((await server.browser(other).get('/connect')).body, 'Disconnect')
  }
})

t.test('TEN-03 calls of two tenants interleaved a thousand times never share a token', async t => {
  const server = await startServer(t)
  const sessions = await Promise.all([A, A2].map(async user => {
    const { url, session } = await server.elicit(user)
    const browser = server.browser(user)
    t.equal((await browser.get((await server.untilCallback(browser, url)).href)).statusCode, 303)
    return session
  }))
  // The API answers with what tells the token that it was sent from others.
  const told = (header: string | null): string => `${header?.split(' ')[0]} ${createHash('sha256').update(String(header)).digest('hex')}`
  t.intercept(globalThis, 'fetch', { value: async (request: Request) => new Response(told(request.headers.get('authorization'))) })
  const call = async (i: number): Promise<string> => {
    const { content } = await sessions[i % 2]!.client.callTool({ name: 'issues' })
    return (content as [{ text: string }])[0].text
  }
  const tokens = [await call(0), await call(1)]
  t.match(tokens, [/^Bearer ./, /^Bearer ./])
  t.not(tokens[0], tokens[1])
  t.strictSame(await Promise.all(Array.from({ length: 1000 }, (_, i) => call(i))), Array.from({ length: 1000 }, (_, i) => tokens[i % 2]))
})

t.test('T06 what another issuer has granted is no connection to this provider', async t => {
  const [store, keys] = [memoryStore(), [randomBytes(32).toString('base64')]]
  const before = await startServer(t, { store, keys })
  const { url } = await before.elicit(A)
  const browser = before.browser(A)
  await browser.get((await before.untilCallback(browser, url)).href)
  const after = await startServer(t, { store, keys })
  t.match(await after.elicit(A), { id: /^[\w-]{43}$/ }, 'the tool asks')
  t.match((await after.browser(A).get('/connect')).body, 'this server has changed where it asks for access')
})

t.test('TEN-04 an answer to a flow of another tenant\'s registration is not taken, by whatever way it comes', async t => {
  const { secrets } = watch(t)
  const scripted = await startScriptedProvider(t, secrets)
  const shared = { store: memoryStore(), keys: [randomBytes(32).toString('base64')], beside: [scripted] }
  const registration = (clientId: ClientId): Partial<ProviderDefinition> =>
    ({ issuer: scripted.issuer, clientId, clientSecret: scripted.clientSecrets[clientId], apiOrigins: [scripted.issuer] })
  const own = await startServer(t, { ...shared, acme: registration('acme') })
  const { url } = await own.elicit(A)
  const browser = own.browser(A)
  const callback = await scripted.authorize(authorizationUrl(await browser.press(url, '/start')))
  for (const change of [{ acme: registration('web') }, { acme: registration('web'), prefix: '/t2' }, { acme: registration('acme'), prefix: '/t2' }]) {
    const other = await startServer(t, { ...shared, ...change })
    const there = other.browser(A)
    for (const [name, value] of browser.cookies) there.cookies.set(name, value)
    const { prefix = '/connect' } = change
    await refused(t, other, () => there.get(callback.href.replace('/connect/', `${prefix}/`)), { status: 400, code: 'CONTEXT_MISMATCH', event: 'callback.context_mismatch' })
  }
  for (const user of [A2, A3]) {
    browser.user = user
    const mismatch = { code: user === A2 ? 'NOT_FOUND' : 'SUBJECT_MISMATCH', status: user === A2 ? 404 : 403, event: 'elicitation.subject_mismatch' } as const
    await refused(t, own, () => browser.get(callback.href), mismatch)
  }
  browser.user = A
  t.equal((await browser.get(callback.href)).statusCode, 303)
})

t.test('TEN-08 whoever disconnects does so for themselves, and ids of another tenant lead nowhere', async t => {
  const server = await startServer(t)
  const [alice, other] = [server.browser(A), server.browser(A2)]
  for (const [user, browser] of [[A, alice], [A2, other]] as const) {
    const { url } = await server.elicit(user)
    t.equal((await browser.get((await server.untilCallback(browser, url)).href)).statusCode, 303)
  }
  const rowsOf = async (user: Principal): Promise<string[]> => (await server.store.vault.list({ limit: 10 })).entries.filter(({ owner }) => owner === hashPrincipal(user)).map(({ name }) => name)
  t.strictSame([(await rowsOf(A)).length, (await rowsOf(A2)).length], [1, 1])
  const foreign = findForm(await other.get('/connect'), '/acme/disconnect')
  await refused(t, server, () => alice.post(foreign.action, foreign.fields), { status: 403, code: 'CSRF_FAILED', event: 'csrf.failed', what: 'the form of another tenant' })

  const { url } = await server.elicit(A2, { scopes: ['issues:write'] })
  const { action, fields } = findForm(await other.get(url), '/decline')
  const nowhere = { status: 404, code: 'NOT_FOUND', event: 'elicitation.subject_mismatch' } as const
  for (const path of [url, `${url}/done`]) await refused(t, server, () => alice.get(path), nowhere)
  for (const address of [action, action.replace(/decline$/, 'start')]) await refused(t, server, () => alice.post(address, fields), nowhere)

  t.equal((await alice.press('/connect', '/acme/disconnect')).statusCode, 303)
  t.strictSame([(await rowsOf(A)).length, (await rowsOf(A2)).length], [0, 1])
  t.notMatch((await alice.get('/connect')).body, 'Connected since')
  t.match((await other.get('/connect')).body, 'Connected since')
})
