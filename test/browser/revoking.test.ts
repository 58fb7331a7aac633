import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import t, { type Test } from 'tap'
import type { AuditEvent } from '../../lib/audit-events.js'
import { allowLoopbackHttp, defineProvider, oidcLogin } from '../../lib/index.js'
import type { FakeProvider, FakeQuirks } from '../../lib/testing/index.js'
import type { BrowserUser, Connection, McpConnectOptions, Principal, ProviderDefinition } from '../../lib/types.js'
import { authorizationUrl, findForm, title, unescape, type TestBrowser } from '../fixtures/browser.js'
import { advance } from '../fixtures/clock.js'
import { openMcpSession } from '../fixtures/mcp-session.js'
import { pause, pauseTokenAnswer } from '../fixtures/pause.js'
import { startFake } from '../fixtures/presets.js'
import { refused } from '../fixtures/refused.js'
import { A, A2, B, startServer, type TestServer } from '../fixtures/server.js'

interface Started {
  readonly server: TestServer
  readonly fake: FakeProvider
  /** Sends the user to the provider and back, from a link or from the connections page. */
  connect (user: BrowserUser, link?: string): Promise<TestBrowser>
  /** Where the provider sends the browser back to. */
  untilCallback (browser: TestBrowser, link: string): Promise<string>
  /** Runs a handler with the connection. */
  run (user: Principal, handler: (connection: Connection) => Promise<unknown>): Promise<unknown>
  /** The events of revocations, with their cause. */
  told (): string[]
  /** The tokens that were sent to be revoked. */
  revoked (): unknown[]
}

async function start (t: Test, quirks: FakeQuirks = {}, change: Partial<ProviderDefinition> = {}, options: Partial<McpConnectOptions> = {}): Promise<Started> {
  const fake = await startFake(t, quirks)
  const provider = defineProvider({ name: 'Fake', issuer: fake.issuer, clientId: 'client', clientSecret: 'secret', apiOrigins: [fake.issuer], [allowLoopbackHttp]: true, ...change })
  const server = await startServer(t, { providers: { acme: provider }, ...options })
  const untilCallback: Started['untilCallback'] = async (browser, link) => {
    const response = await fetch(authorizationUrl(await browser.press(link, '/start')), { redirect: 'manual' })
    return response.headers.get('location')!
  }
  return {
    server,
    fake,
    untilCallback,
    async connect (user, link) {
      const browser = server.browser(user)
      const callback = await untilCallback(browser, link ?? (await server.elicit(user)).url)
      const answer = await browser.get(callback)
      if (answer.statusCode !== 303) throw new Error(title(answer))
      return browser
    },
    async run (user, handler) {
      const mcp = new McpServer({ name: 'test', version: '1.0.0' })
      let result: unknown
      mcp.registerTool('tool', {}, server.app.mcpConnect.for(mcp).requireConnection('acme', async connection => {
        result = await handler(connection)
        return { content: [] }
      }))
      const session = await openMcpSession(mcp, { user })
      t.teardown(() => session.close())
      const answer = await session.client.callTool({ name: 'tool' })
      if (answer.isError === true) throw new Error(JSON.stringify(answer.content))
      return result
    },
    told: () => server.audit.filter(({ event }) => event.startsWith('revocation.')).map(({ event, ...facts }) => [event, ...'cause' in facts ? [facts.cause] : []].join(' ')),
    revoked: () => fake.requests.filter(({ path }) => path === '/revoke').map(({ parameters }) => parameters['token'])
  }
}

const api = ({ issuer }: FakeProvider) => async (connection: Connection): Promise<number> => (await connection.fetch(`${issuer}/api`)).status

t.test('VLT-16 COMPLAINTS: disconnect leaves the grant alive at the provider: the page says once what became of it there', async t => {
  for (const [quirks, change, outcome, said, event] of [
    [{}, {}, undefined, "This server's access at Fake has ended, too.", 'revocation.done'],
    [{ errorCodes: { dead: 'invalid_token' } }, {}, 'dead', "This server's access at Fake has ended, too.", 'revocation.done'],
    [{}, {}, 'unavailable', 'Fake could not be reached to end this server\'s access there, and will be tried again.', 'revocation.postponed'],
    [{}, {}, 'misregistered', 'remove it in your settings there', 'revocation.failed refused'],
    [{ revocation: 'none' }, {}, undefined, 'remove it in your settings there', 'revocation.failed unsupported'],
    [{}, { revocationRequest: () => { throw new Error('x') } }, undefined, 'remove it in your settings there', 'revocation.failed refused']
  ] as ReadonlyArray<readonly [FakeQuirks, Partial<ProviderDefinition>, Parameters<FakeProvider['next']>[1] | undefined, string, string]>) {
    const { server, fake, connect, told } = await start(t, quirks, change)
    const browser = await connect(A)
    const page = await browser.get('/connect')
    t.match(unescape(page.body), "Disconnecting deletes what is stored here, and has Fake end this server's access there.")
    t.notMatch(page.body, 'role="status"')
    if (outcome !== undefined) fake.next('revocation', outcome, 2)
    t.match((await browser.press('/connect', '/acme/disconnect')).headers, { location: 'https://mcp.example.com/connect' })
    t.equal(await server.vaultRows(), '[]', 'it is deleted here in any case')
    t.strictSame(told().slice(0, 1), [event])
    const after = unescape((await browser.get('/connect')).body)
    t.match(after, /role="status">Disconnected: what was stored here is deleted\./)
    t.match(after, said)
    t.notMatch((await browser.get('/connect')).body, 'role="status"', 'once')
  }
})

t.test('what the page says is for whoever has disconnected', async t => {
  const { server, connect } = await start(t)
  const browser = await connect(A)
  await browser.press('/connect', '/acme/disconnect')
  const [name, value] = [...browser.cookies].find(([name]) => name.endsWith('notice'))!
  t.match(name, /^__Host-/)
  browser.user = B
  t.notMatch((await browser.get('/connect')).body, 'role="status"')
  t.notOk(browser.cookies.has(name))
  browser.user = A
  for (const changed of [value.slice(0, -2), value.toUpperCase(), 'x', '']) {
    browser.cookies.set(name, changed)
    const page = await browser.get('/connect')
    t.equal(page.statusCode, 200)
    t.notMatch(page.body, 'role="status"')
  }
  const twice = await server.browser(A).get('/connect', { cookie: `${name}=${value}; ${name}=x` })
  t.equal(twice.statusCode, 200)
  await browser.get('/connect')
  t.notMatch([...browser.cookies.keys()].join(), 'notice')
})

t.test('a provider that does not answer does not hold up the page', async t => {
  const { server, fake, connect, told } = await start(t)
  const browser = await connect(A)
  fake.next('revocation', 'hang')
  const before = performance.now()
  await browser.press('/connect', '/acme/disconnect')
  t.ok(performance.now() - before < 9000)
  t.equal(await server.vaultRows(), '[]')
  t.match(unescape((await browser.get('/connect')).body), 'will be tried again')
  await fake.close()
  await server.app.close()
  t.strictSame(told(), ['revocation.postponed'])
})

t.test('the operator disconnects: all accounts, or one', async t => {
  const { server, fake, connect, run } = await start(t, {}, { scopes: ['openid', 'email'] })
  const { mcpConnect } = server.app
  await connect(A)
  t.equal(await run(A, api(fake)), 200)
  t.strictSame(await mcpConnect.disconnect(A, 'acme', 'bob'), [], 'an account that is not there')
  t.strictSame(await mcpConnect.disconnect(A, 'acme', 'alice@example.com'), [{ account: { subject: 'alice', label: 'alice@example.com' }, atProvider: 'revoked' }])
  t.equal(await server.vaultRows(), '[]')
  t.strictSame(await mcpConnect.disconnect(A, 'acme'), [])
  await t.rejects(run(A, api(fake)), { code: -32042 })
  await t.rejects(mcpConnect.disconnect(A, 'gitlab'), { code: 'FST_MCP_CONNECT_UNKNOWN_PROVIDER' })
  for (const wrong of [null, {}, { issuer: 'x' }]) {
    await t.rejects(mcpConnect.disconnect(wrong as never, 'acme'), { code: 'FST_MCP_CONNECT_OPTIONS', message: /disconnect takes a principal/ })
    await t.rejects(mcpConnect.removePrincipal(wrong as never), { code: 'FST_MCP_CONNECT_OPTIONS', message: /removePrincipal takes a principal/ })
  }
})

t.test('TEN-08 disconnecting one tenant\'s user touches no other tenant\'s, by the page, the operator or the tool', async t => {
  const { server, fake, connect, run } = await start(t)
  const own = await connect(A)
  const other = await connect(A2)
  const foreign = findForm(await other.get('/connect'), '/acme/disconnect')
  await refused(t, server, () => own.post(foreign.action, foreign.fields), { status: 403, code: 'CSRF_FAILED', event: 'csrf.failed' })
  const works = async (): Promise<unknown> => await run(A2, api(fake))
  t.equal(await works(), 200)
  await own.press('/connect', '/acme/disconnect')
  t.equal(await works(), 200)
  await connect(A)
  await server.app.mcpConnect.disconnect(A, 'acme')
  t.equal(await works(), 200)
  await connect(A)
  await run(A, async connection => await connection.disconnect())
  t.equal(await works(), 200)
  await connect(A)
  t.match(await server.app.mcpConnect.removePrincipal(A), { connections: 1, grants: { revoked: 1 } })
  t.equal(await works(), 200)
})

t.test('the tool ends its own connection, and can use it no longer', async t => {
  const { server, fake, connect, run, told } = await start(t)
  await connect(A)
  await run(A, async connection => {
    t.equal(await api(fake)(connection), 200)
    const [ended, again] = await Promise.all([connection.disconnect(), connection.disconnect()])
    t.strictSame(ended, { account: undefined, atProvider: 'revoked' })
    t.equal(again, ended)
    const calls: ReadonlyArray<() => Promise<unknown>> = [() => connection.accessToken(), () => connection.fetch(`${fake.issuer}/api`)]
    for (const call of calls) {
      await t.rejects(call(), { code: 'FST_MCP_CONNECT_CONNECTION_ENDED', message: /Fake was ended by its own disconnect/ })
    }
  })
  t.strictSame(told(), ['revocation.done'])
  t.equal(await server.vaultRows(), '[]')
  await t.rejects(run(A, api(fake)), { code: -32042 }, 'the next call asks')

  await connect(A)
  await run(A, async connection => {
    await server.app.mcpConnect.disconnect(A, 'acme')
    t.equal(await connection.disconnect(), null, 'somebody else was quicker')
  })
})

t.test('a tool whose disconnect fails can try again', async t => {
  const { server, connect, run } = await start(t)
  await connect(A)
  await run(A, async connection => {
    const { delete: remove } = server.store.vault
    let failed = false
    t.intercept(server.store.vault, 'delete', {
      value: async (...args: Parameters<typeof remove>) => {
        if (failed) return await remove(...args)
        failed = true
        throw new Error('down')
      }
    })
    await t.rejects(connection.disconnect(), { code: 'FST_MCP_CONNECT_ADAPTER_FAILED' })
    t.match(await connection.accessToken(), /^[\w-]{43}$/)
    t.match(await connection.disconnect(), { atProvider: 'revoked' })
  })
})

t.test('a refresh in flight while its user disconnects is undone, at the provider too', async t => {
  for (const how of ['page', 'operator', 'removePrincipal'] as const) {
    const { server, fake, connect, run, told, revoked } = await start(t)
    const browser = await connect(A)
    await t.test(how, async t => {
      advance(t, 3_600_000 - 1)
      const { reached, resume } = pauseTokenAnswer(t)
      const call = run(A, api(fake)).then(String, String)
      await reached
      t.equal(fake.counts.refreshes, 1)
      if (how === 'page') await browser.press('/connect', '/acme/disconnect')
      else if (how === 'operator') await server.app.mcpConnect.disconnect(A, 'acme')
      else await server.app.mcpConnect.removePrincipal(A)
      resume()
      t.match(await call, /URL|connect/i)
      t.equal(await server.vaultRows(), '[]')
      t.ok(server.audit.some(({ event }) => event === 'refresh.lost_race'))
      t.strictSame(told(), ['revocation.done', 'revocation.done'])
      t.equal(new Set(revoked()).size, 4, 'the old tokens, and the new ones')
    })
  }
})

t.test('a callback under way does not come back, and what it has brought is ended', async t => {
  for (const how of ['operator', 'tool', 'removePrincipal'] as const) {
    const { server, fake, connect, run, untilCallback, told } = await start(t)
    const browser = await connect(A)
    const again = String((await browser.press('/connect', '/acme/connect')).headers.location)
    const callback = await untilCallback(browser, again)
    await t.test(how, async t => {
      const { reached, resume } = pause(t, server.store.vault, 'put')
      const answer = browser.get(callback)
      await reached
      if (how === 'operator') await server.app.mcpConnect.disconnect(A, 'acme')
      if (how === 'tool') await run(A, async connection => await connection.disconnect())
      if (how === 'removePrincipal') await server.app.mcpConnect.removePrincipal(A)
      resume()
      t.equal(title(await answer), 'You have disconnected this')
      t.equal(await server.vaultRows(), '[]')
      t.strictSame(told(), ['revocation.done', 'revocation.done'])
      t.equal(fake.counts.exchanges, 2)
    })
  }
})

t.test('a grant that cannot be stored is ended at the provider', async t => {
  const { server, untilCallback, revoked, told } = await start(t)
  const browser = server.browser(A)
  const callback = await untilCallback(browser, (await server.elicit(A)).url)
  t.intercept(server.store.vault, 'put', { value: async () => { throw new Error('down') } })
  t.equal((await browser.get(callback)).statusCode, 503)
  t.equal(revoked().length, 2)
  t.strictSame(told(), ['revocation.done'])
})

t.test('an account that nobody wants is ended at the provider: said so, or not decided', async t => {
  const { server, fake, connect, untilCallback, revoked } = await start(t, {}, { scopes: ['openid', 'email'] })
  const browser = await connect(A)
  const ask = async (): Promise<string> => {
    fake.account = { subject: 'bob', label: 'bob@example.com' }
    const link = String((await browser.press('/connect', '/acme/connect')).headers.location)
    return String((await browser.get(await untilCallback(browser, link))).headers.location)
  }
  await browser.press(await ask(), '/account/discard')
  t.equal(revoked().length, 2)
  t.strictSame(server.audit.filter(({ event }) => event.startsWith('revocation.')).map(({ event }) => event), ['revocation.done'])
  await browser.press(await ask(), '/account/add')
  t.equal(revoked().length, 2)
  t.match((await browser.get('/connect')).body, 'bob@example.com')
})

t.test('removePrincipal ends browser sessions of oidcLogin', async t => {
  const fake = await startFake(t)
  const { server } = await start(t, {}, {}, { browser: oidcLogin({ issuer: fake.issuer, clientId: 'client', clientSecret: 'secret', [allowLoopbackHttp]: true }) })
  t.strictSame(await server.app.mcpConnect.removePrincipal(A), {
    connections: 0, grants: { revoked: 0, later: 0, unsupported: 0, refused: 0, spared: 0, unconfigured: 0, unreadable: 0, lost: 0 }
  })
  const events = server.audit satisfies AuditEvent[]
  t.strictSame(events.map(({ event }) => event), ['session.revoked'])
})
