import Fastify from 'fastify'
import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { startAcme } from '../../examples/demo/acme.js'
import { allowLoopbackHttp, defineProvider, memoryStore } from '../../lib/index.js'
import { createResolveProvider } from '../../lib/providers/tenant-registrations.js'
import type { BrowserUser, McpConnectOptions, TenantProvider, TenantProviderDefinition, TenantRegistration } from '../../lib/types.js'
import { authorizationUrl, title, type TestBrowser } from '../fixtures/browser.js'
import { advance } from '../fixtures/clock.js'
import { refused } from '../fixtures/refused.js'
import { json, startScriptedProvider, type ClientId, type ScriptedProvider } from '../fixtures/scripted-provider.js'
import { Secrets } from '../fixtures/secrets.js'
import { A, A2, B, BASE_URL, startServer, type TestServer } from '../fixtures/server.js'
import { watch } from '../fixtures/watch.js'

const T3: BrowserUser = { ...B, tenant: 'T3' }

interface Tenants extends Pick<Awaited<ReturnType<typeof startScriptedProvider>>, 'requests'> {
  readonly server: TestServer
  readonly p1: ScriptedProvider
  registration (clientId: ClientId): TenantRegistration
  /** From the link to the end. */
  connect (user: BrowserUser): Promise<Awaited<ReturnType<TestServer['elicit']>>['session']>
  /** As whom the token endpoint was asked since this was called last, and for what. */
  tokenRequests (): string[]
}

/** T1 is the client acme at P1, T2 the client web there; other tenants have what `more` says. */
async function start (t: Test, { more = () => null, provider = {}, ...options }:
{ more?: (tenant: string | undefined) => unknown, provider?: Partial<TenantProviderDefinition> } & Partial<McpConnectOptions> = {}): Promise<Tenants> {
  const { secrets } = watch(t)
  const p1 = await startScriptedProvider(t, secrets)
  const acme = await startAcme()
  t.teardown(() => acme.close())
  const { fetch } = globalThis
  t.intercept(globalThis, 'fetch', {
    value: async (...[input, init]: Parameters<typeof fetch>) => input instanceof Request && input.url.startsWith(acme.apiOrigin) ? new Response('the one issue') : await fetch(input, init)
  })
  const registration = (clientId: ClientId): TenantRegistration => ({ clientId, clientSecret: p1.clientSecrets[clientId] })
  const server = await startServer(t, {
    at: acme,
    beside: [p1],
    ...options,
    providers: {
      acme: {
        name: 'Acme',
        issuer: p1.issuer,
        apiOrigins: [acme.apiOrigin],
        scopes: ['issues:read'],
        [allowLoopbackHttp]: true,
        ...provider,
        registration: async tenant => {
          const known = new Map<string | undefined, TenantRegistration>([['T1', registration('acme')], ['T2', registration('web')]]).get(tenant)
          return (known ?? await more(tenant)) as TenantRegistration | null
        }
      }
    }
  })
  return {
    server,
    p1,
    requests: p1.requests,
    registration,
    async connect (user) {
      const { url, session } = await server.elicit(user)
      const browser = server.browser(user)
      const authorize = authorizationUrl(await browser.press(url, '/start'))
      t.equal((await browser.get((await p1.authorize(authorize)).href)).statusCode, 303)
      return session
    },
    tokenRequests: () => p1.requests.splice(0).filter(({ path }) => path === '/token').map(({ headers, body }) => {
      const [id, secret] = Buffer.from(String(headers.authorization).slice('Basic '.length), 'base64').toString().split(':').map(decodeURIComponent)
      return `${id} ${p1.clientSecrets[id as ClientId] === secret} ${new URLSearchParams(body).get('grant_type')}`
    })
  }
}

t.test('TEN-06 each tenant connects, and is refreshed, with the registration of its own', async t => {
  const { server, p1, connect, tokenRequests } = await start(t)
  const answer = { token_type: 'bearer', expires_in: 300, scope: 'issues:read' }
  p1.script = { answer: ({ good, response }) => json(response, { ...good, ...answer }) }
  const sessions = [await connect(A), await connect(A2)]
  t.strictSame(tokenRequests(), ['acme true authorization_code', 'web true authorization_code'])
  for (const [user, other] of [[A, A2], [A2, A]] as const) {
    t.match((await server.browser(user).get('/connect')).body, 'Connected since')
    t.not(server.app.mcpConnect.auditIdsOf(user).tenant, server.app.mcpConnect.auditIdsOf(other).tenant)
  }
  p1.answers.set('/token', (_request, response) => json(response, { ...answer, access_token: randomBytes(32).toString('base64url') }))
  advance(t, 301_000)
  server.audit.splice(0)
  for (const session of sessions) t.match(await session.client.callTool({ name: 'issues' }), { content: [{ text: 'the one issue' }] })
  t.strictSame(tokenRequests(), ['acme true refresh_token', 'web true refresh_token'])
  t.strictSame(server.audit.filter(({ event }) => event === 'refresh.ok').map(event => 'tenant' in event && event.tenant), [A, A2].map(user => server.app.mcpConnect.auditIdsOf(user).tenant))
})

t.test('TEN-06 what a tenant disconnects is ended with its own registration', async t => {
  let reachable = true
  const { server, p1, registration, connect } = await start(t, {
    more: () => {
      if (!reachable) throw new Error('the database is down')
      return registration('web')
    }
  })
  p1.metadata['revocation_endpoint'] = `${p1.issuer}/revoke`
  p1.answers.set('/revoke', (_request, response) => json(response, {}))
  p1.script = { answer: ({ good, response }) => json(response, { ...good, expires_in: 300, scope: 'issues:read' }) }
  const clients = (): string[] => p1.requests.splice(0).filter(({ path }) => path === '/revoke')
    .map(({ headers }) => String(Buffer.from(String(headers.authorization).slice('Basic '.length), 'base64')).split(':')[0]!)
  for (const user of [A, T3]) await connect(user)
  t.match(await server.app.mcpConnect.disconnect(A, 'acme'), [{ atProvider: 'revoked' }])
  t.strictSame([...new Set(clients())], ['acme'])
  await t.test('also while that cannot be looked up again', async t => {
    reachable = false
    advance(t, 60_001)
    t.match(await server.app.mcpConnect.disconnect(T3, 'acme'), [{ atProvider: 'revoked' }])
    t.strictSame([...new Set(clients())], ['web'])
  })
})

t.test('TEN-04 an answer to a flow of one tenant\'s registration is not taken where another tenant is signed in', async t => {
  const { server, p1, tokenRequests } = await start(t)
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  const authorize = authorizationUrl(await browser.press(url, '/start'))
  t.equal(authorize.searchParams.get('client_id'), 'acme')
  const callback = await p1.authorize(authorize)
  browser.user = A2
  await refused(t, server, () => browser.get(callback.href), { status: 400, code: 'CONTEXT_MISMATCH', event: 'callback.context_mismatch' })
  browser.user = null
  await refused(t, server, () => browser.get(callback.href), { status: 401, code: 'SESSION_LOST', event: 'callback.session_missing', user: null })
  const elsewhere = new URL(callback)
  elsewhere.pathname += `/${'0'.repeat(32)}`
  browser.user = A
  await refused(t, server, () => browser.get(elsewhere.href), { status: 400, code: 'CONTEXT_MISMATCH', event: 'callback.context_mismatch' })
  t.strictSame(tokenRequests(), [])
  t.equal((await browser.get(callback.href)).statusCode, 303)
  t.strictSame(tokenRequests(), ['acme true authorization_code'])
})

t.test('a tenant without a registration has no such provider', async t => {
  const { server, requests } = await start(t)
  const session = await server.openSession({ user: T3 })
  t.match(await session.client.callTool({ name: 'issues' }), { isError: true, content: [{ text: 'This user is not allowed to use Acme here.' }] })
  t.match(server.audit.at(-1), { event: 'guard.blocked', reason: 'not_authorized' })
  t.notMatch((await server.browser(T3).get('/connect')).body, 'Acme')
  t.match((await server.browser(A).get('/connect')).body, 'Acme')
  t.strictSame(requests, [])

  const withDefault = await start(t, { provider: { clientId: 'acme' } })
  const { url } = await withDefault.server.elicit(T3)
  t.equal(authorizationUrl(await withDefault.server.browser(T3).press(url, '/start')).searchParams.get('client_id'), 'acme')
})

t.test('a registration that cannot be had: a fixed text for the user, the reason for the operator, and the link is still good', async t => {
  const { secrets } = watch(t)
  const trouble = new Error('the database of the host is down')
  let result: () => unknown = () => { throw trouble }
  const { server, registration } = await start(t, { more: () => result() })
  const failures: ReadonlyArray<readonly [() => unknown, RegExp]> = [[() => { throw trouble }, /database of the host/], [() => ({ clientId: 'x', clientSecret: '' }), /at clientSecret/], [() => ({ clientId: 'x', privateHosts: ['internal.example'] }), /unknown: privateHosts/]]
  const session = await server.openSession({ user: T3 })
  for (const [failure, reason] of failures) {
    result = failure
    server.log.splice(0)
    t.match(await session.client.callTool({ name: 'issues' }), { isError: true, content: [{ text: 'The connection could not be looked up just now. Try again later.' }] })
    t.match(server.log.join(''), reason)
    const page = await server.browser(T3).get('/connect')
    t.match([page.statusCode, page.body], [200, /Acme[^]*It cannot be looked up just now/])
    t.notMatch(page.body, reason)
    t.notMatch(page.body, '/acme/connect')
  }
  t.equal(secrets.find(server.log.join('')).length, 0)

  // T3 has one, gets a link, and then the host forgets how to tell.
  const store = memoryStore()
  const keys = [randomBytes(32).toString('base64')]
  const before = await start(t, { store, keys, more: () => registration('acme') })
  const { url } = await before.server.elicit(T3)
  const after = await start(t, { store, keys, more: () => { throw trouble } })
  const answer = await after.server.browser(T3).get(url)
  t.match([answer.statusCode, title(answer)], [503, 'Not available at the moment'])
  t.notMatch(answer.body, 'database')
  t.equal((await before.server.browser(T3).get(url)).statusCode, 200)
})

t.test('what was granted to one registration is not refreshed with another', async t => {
  const { p1, registration, connect, tokenRequests } = await start(t, { more: () => registration(client) })
  let client: ClientId = 'acme'
  p1.script = { answer: ({ good, response }) => json(response, { ...good, expires_in: 300, scope: 'issues:read' }) }
  const session = await connect(T3)
  tokenRequests()
  client = 'web'
  advance(t, 301_000)
  await t.rejects(session.client.callTool({ name: 'issues' }), { code: -32042 })
  t.strictSame(tokenRequests(), [])
})

/** P1 is the definition's authorization server; PX is T3's own, and in the hands of an attacker. */
async function startWithOwn (t: Test): Promise<Tenants & { readonly px: ScriptedProvider, readonly begin: (browser: TestBrowser, user: BrowserUser) => Promise<URL> }> {
  const { secrets } = watch(t)
  const px = await startScriptedProvider(t, secrets, 'PX')
  const tenants = await start(t, { more: () => ({ clientId: 'acme', clientSecret: px.clientSecrets.acme, issuer: px.issuer }) })
  return {
    ...tenants,
    px,
    begin: async (browser, user) => authorizationUrl(await browser.press((await tenants.server.elicit(user)).url, '/start'))
  }
}

t.test('an authorization server of a tenant\'s own has a redirect URI of its own', async t => {
  const { server, px, begin } = await startWithOwn(t)
  const { mcpConnect } = server.app
  const redirectUri = mcpConnect.redirectUri('acme', px.issuer)
  t.match(redirectUri, new RegExp(`^${BASE_URL}/connect/callback/acme/[\\da-f]{32}$`))
  t.equal(mcpConnect.redirectUri('acme'), `${BASE_URL}/connect/callback/acme`)
  t.throws(() => mcpConnect.redirectUri('none'), { code: 'FST_MCP_CONNECT_UNKNOWN_PROVIDER' })
  px.redirectUris.push(redirectUri)
  const browser = server.browser(T3)
  const url = await begin(browser, T3)
  t.equal(url.searchParams.get('redirect_uri'), redirectUri)
  t.equal(url.origin, px.issuer)
  const callback = await px.authorize(url)
  t.equal((await browser.get(callback.href)).statusCode, 303)
  t.match((await browser.get('/connect')).body, 'Connected')
  t.equal(new URLSearchParams(px.requests.find(({ path }) => path === '/token')!.body).get('redirect_uri'), redirectUri)
})

t.test('TEN-10 a tenant\'s own authorization server never gets the code of the one that others have', async t => {
  const { server, p1, px, begin } = await startWithOwn(t)
  delete p1.metadata['authorization_response_iss_parameter_supported']
  p1.script = { redirect: url => url.searchParams.delete('iss') }      // nothing but the redirect URI tells whose answer it is
  p1.redirectUris.push(server.app.mcpConnect.redirectUri('acme'))
  const codes = new Secrets()
  const browser = server.browser(T3)
  const url = await begin(browser, T3)
  // PX sends its visitor on to P1, with its own state: as P1's own client, to an address that P1 knows.
  const onward = new URL(`${p1.issuer}/authorize${url.search}`)
  await t.rejects(p1.authorize(onward), 'P1 does not know that of PX')
  onward.searchParams.set('redirect_uri', server.app.mcpConnect.redirectUri('acme'))
  const callback = await p1.authorize(onward)
  codes.add('code of P1', callback.searchParams.get('code')!)
  await refused(t, server, () => browser.get(callback.href), { status: 400, code: 'CONTEXT_MISMATCH', event: 'callback.context_mismatch' })
  t.strictSame(px.requests.filter(({ path }) => path === '/token'), [])
  t.equal(codes.find(JSON.stringify(px.requests)).length, 0)
})

t.test('headers that the operator has for one authorization server do not go to that of a tenant', async t => {
  const requestHeaders = { 'x-key': 'of the operator' }
  const template = defineProvider({ name: 'Acme', issuer: 'https://acme.example', clientId: 'id', apiOrigins: ['https://api.acme.example'], requestHeaders })
  const resolve = createResolveProvider(new Map([['acme', { ...template, registration: tenant => ({ clientId: 'x', ...tenant === 'T2' && { issuer: 'https://tenant.example' } }) } as TenantProvider]]), Fastify().log)
  t.strictSame((await resolve(A, 'acme'))!.requestHeaders, requestHeaders)
  t.strictSame((await resolve(A2, 'acme'))!.requestHeaders, {})
})
