import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import Fastify, { type LightMyRequestResponse } from 'fastify'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { request, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { addressKey } from '../../lib/ip-address.js'
import { createDeclines } from '../../lib/elicitation/declines.js'
import { createElicitations } from '../../lib/elicitation/elicitations.js'
import { mcpConnect, memoryStore } from '../../lib/index.js'
import { createLimiter } from '../../lib/state/limiter.js'
import type { McpConnectOptions } from '../../lib/types.js'
import { createKeyRing } from '../../lib/vault/key-ring.js'
import { createSealer } from '../../lib/vault/sealer.js'
import { title, USER_HEADER } from '../fixtures/browser.js'
import { advance } from '../fixtures/clock.js'
import { startWithLogin } from '../fixtures/login.js'
import { openMcpSession } from '../fixtures/mcp-session.js'
import { refused, type Refusal } from '../fixtures/refused.js'
import { A, A2, A3, B, startServer } from '../fixtures/server.js'

const MINUTE_MS = 60_000
const few = { max: 3, windowMs: MINUTE_MS }

/** The first request that is too many; those after it are not told. */
const RATE_LIMITED: Refusal = { status: 429, code: 'RATE_LIMITED', event: 'ratelimit.hit' }

t.test('RLM-01 RLM-10 whoever is signed in is limited as such, and gets in nobody\'s way', async t => {
  const server = await startServer(t, { limits: { principal: few, address: few } })
  const { url } = await server.elicit(A)
  const a = server.browser(A)
  for (let i = 0; i < 3; i++) t.equal((await a.get(url)).statusCode, 200)
  for (let i = 0; i < 10; i++) {
    const page = await refused(t, server, () => a.get(url), { ...RATE_LIMITED, ...i > 0 && { event: null } })
    t.ok(Number(page.headers['retry-after']) > 30 && Number(page.headers['retry-after']) <= 60, 'the rest of the window')
    t.equal(title(page), 'Too many requests')
  }
  for (const other of [B, A2, A3]) t.equal((await server.browser(other).get('/connect')).statusCode, 200, 'the same address, somebody else')
  t.equal((await server.browser(null).get('/connect')).statusCode, 303, 'nor is the address used up')
  t.equal(server.log.filter(line => line.includes('limits.principal') && line.includes('"level":40')).length, 1, 'the operator is told once')
  await t.test('until the window ends', async t => {
    advance(t, MINUTE_MS + 1)
    t.equal((await a.get(url)).statusCode, 200)
  })
})

t.test('RLM-06 RLM-08 guesses and floods without a session are limited by address, and cost the provider nothing', async t => {
  const server = await startServer(t, { limits: { address: { max: 20, windowMs: MINUTE_MS } } })
  const { url } = await server.elicit(A)
  const a = server.browser(A)
  const callback = await server.untilCallback(a, url)
  const stranger = server.browser(null)
  const random = (): string => 'x'.repeat(20) + Math.random().toString(36).slice(2).padEnd(23, 'y').slice(0, 23)
  const before = server.log.length
  const guess = async (i: number): Promise<LightMyRequestResponse> => await stranger.get(i % 2 === 0 ? `/connect/${random()}` : `/connect/callback/acme?code=x&state=${random()}`)
  const statuses = new Map<number, number>()
  const guessTimes = async (times: number): Promise<void> => {
    for (let i = 0; i < times; i++) {
      const { statusCode } = await guess(i)
      statuses.set(statusCode, (statuses.get(statusCode) ?? 0) + 1)
    }
  }
  await guessTimes(20)
  await refused(t, server, () => guess(0), RATE_LIMITED)
  for (let i = 0; i < 2; i++) await refused(t, server, () => guess(i), { ...RATE_LIMITED, event: null })
  await guessTimes(977)
  t.strictSame([...statuses], [[303, 10], [400, 10], [429, 977]])
  t.equal(server.acme.tokenRequests, 0)
  t.ok(server.log.slice(before).filter(line => /"level":[3456]0/.test(line) && line.includes('mcp-connect:')).length <= 22, 'nor does it flood the log')
  t.equal((await a.get(callback.href)).statusCode, 303, 'the owner of a real one is not locked out')
})

t.test('RLM-06 addresses are counted by their hashes, and faults are not counted', async t => {
  const keys: string[] = []
  const store = memoryStore()
  const count: typeof store.state.count = async (key, ...args) => { keys.push(key); return await store.state.count(key, ...args) }
  const server = await startServer(t, { store: { ...store, state: { ...store.state, count } }, limits: { address: few } })
  keys.length = 0                                           // at start-up the store is tried out
  const broken = server.browser({ issuer: '', subject: '' })
  for (let i = 0; i < 5; i++) t.equal((await broken.get('/connect')).statusCode, 500)
  t.strictSame(keys, [])
  await server.browser(null).get('/connect')
  t.match(keys, [/^limit-address:[0-9a-f]{64}$/])
})

t.test('RLM-06 one user at many addresses is limited too', async t => {
  const app = Fastify({ trustProxy: ['127.0.0.1'] })
  t.teardown(() => app.close())
  await app.register(mcpConnect, options({ limits: { principal: few } }))
  const statuses = []
  for (let i = 0; i < 5; i++) statuses.push((await app.inject({ url: '/connect', headers: { [USER_HEADER]: 'a', 'x-forwarded-for': `192.0.2.${i}` } })).statusCode)
  t.strictSame(statuses, [200, 200, 200, 429, 429])
})

const options = (change: Partial<McpConnectOptions>): McpConnectOptions => ({
  baseUrl: 'https://mcp.example.com',
  store: memoryStore(),
  keys: ['q1Fh2rTt8m0w2kZl9b3uVx5yQe7sJcN4gPd6iRoA1Bc='],
  browser: { identify: request => request.headers[USER_HEADER] === undefined ? null : A },
  providers: {},
  ...change
})

t.test('RLM-02 a made-up X-Forwarded-For makes no difference, unless the application trusts who sends it', async t => {
  for (const [trustProxy, limited] of [[false, true], [['10.0.0.0/8'], true], [['127.0.0.1'], false]] as const) {
    const app = Fastify({ trustProxy: trustProxy as string[] | false })
    await app.register(mcpConnect, options({ limits: { address: few } }))
    const statuses = []
    for (let i = 0; i < 5; i++) statuses.push((await app.inject({ url: '/connect', headers: { 'x-forwarded-for': `192.0.2.${i}` } })).statusCode)
    t.equal(statuses.includes(429), limited, String(trustProxy))
    await app.close()
  }
})

t.test('RLM-03 settings of trustProxy by which addresses mean nothing are named at start-up, with the mend', async t => {
  const warnings = async (trustProxy: boolean | number | string[], change: Partial<McpConnectOptions> = {}): Promise<string> => {
    const lines: string[] = []
    const app = Fastify({ trustProxy: trustProxy as boolean, logger: { level: 'warn', stream: { write (line: string) { lines.push(line) } } } })
    await app.register(async child => { await child.register(mcpConnect, options(change)) })
    await app.close()
    return lines.filter(line => line.includes('trustProxy')).join('')
  }
  for (const trustProxy of [true, 1]) {
    t.match(await warnings(trustProxy), new RegExp(`trustProxy: ${trustProxy}.*trustProxy: \\['10\\.0\\.0\\.0/8'\\]`))
    t.equal(await warnings(trustProxy, { limits: { address: false } }), '', 'without that limit it is the host\'s own affair')
  }
  t.equal(await warnings(false), '')
  t.equal(await warnings(['10.0.0.0/8']), '')
})

t.test('T19 an IPv6 site is one address; an IPv4 address is the same however it is written', t => {
  t.equal(addressKey('2001:db8:1:2::1'), addressKey('2001:db8:1:2:ffff:ffff:ffff:ffff'))
  t.not(addressKey('2001:db8:1:2::1'), addressKey('2001:db8:1:3::1'))
  t.equal(addressKey('::ffff:192.0.2.1'), addressKey('192.0.2.1'))
  t.equal(addressKey('::ffff:c000:201'), addressKey('192.0.2.1'))
  t.not(addressKey('192.0.2.1'), addressKey('192.0.2.2'))
  t.not(addressKey('64:ff9b::192.0.2.1'), addressKey('64:ff9b::192.0.2.2'), 'translated by NAT64')
  t.equal(addressKey('fe80::1%eth0'), addressKey('fe80::2%eth1'))
  t.equal(addressKey(undefined), addressKey('unix'))
  t.end()
})

t.test('who takes JSON and no pages is answered in JSON', async t => {
  const server = await startServer(t, { limits: { address: { max: 1, windowMs: MINUTE_MS } } })
  const stranger = server.browser(null)
  await stranger.get('/connect')
  const refused = await stranger.get('/connect', { accept: 'application/json' })
  t.match(refused.headers['content-type'], 'application/json')
  t.equal(refused.headers['retry-after'], '60')
  t.match(refused.headers.vary, 'Accept')
  t.strictSame(refused.json(), { statusCode: 429, code: 'FST_MCP_CONNECT_RATE_LIMITED', error: 'Too Many Requests', message: 'Wait a moment, then open the page again.' })
  for (const accept of ['text/html,application/json', '*/*', '']) t.match((await stranger.get('/connect', { accept })).headers['content-type'], 'text/html', accept)
})

t.test('no limit where there is to be none, nor while the store does not count', async t => {
  const unlimited = await startServer(t, { limits: { address: false, principal: false, elicitations: false } })
  for (let i = 0; i < 400; i++) if ((await unlimited.browser(null).get('/connect')).statusCode !== 303) t.fail('limited')
  for (let i = 0; i < 150; i++) if ((await unlimited.browser(A).get('/connect')).statusCode !== 200) t.fail('limited')
  const store = memoryStore()
  let broken = false
  const count: typeof store.state.count = async (...args) => {
    if (broken) throw new Error('canary')
    return await store.state.count(...args)
  }
  const server = await startServer(t, { store: { ...store, state: { ...store.state, count } }, limits: { address: few, elicitations: few } })
  broken = true
  for (let i = 0; i < 10; i++) t.equal((await server.browser(null).get('/connect')).statusCode, 303)
  await server.elicit(A)
  t.match(server.log.join(''), /"level":40.*the store failed to count/)
})

t.test('RLM-07 an agent that calls a thousand times has one link, and one that starts over has a few', async t => {
  const rows = new Set<string>()
  const store = memoryStore()
  const put: typeof store.state.put = async (key, ...args) => {
    if (key.startsWith('elicitation:')) rows.add(key)
    return await store.state.put(key, ...args)
  }
  const server = await startServer(t, { store: { ...store, state: { ...store.state, put } }, limits: { elicitations: few } })
  const session = await server.openSession({ user: A })
  const call = async (): Promise<any> => await session.client.callTool({ name: 'issues' }).catch(error => error)
  const urls = new Set((await Promise.all(Array.from({ length: 1000 }, call))).map(error => error.elicitations[0].url))
  t.equal(urls.size, 1)
  t.equal(rows.size, 1)

  // Each link is retired by a connection that is made, and undone.
  const a = server.browser(A)
  const reconnect = async (): Promise<void> => {
    await a.press('/connect', '/acme/connect')
    await server.elicit(A).then(async ({ url }) => await a.get((await server.untilCallback(a, url)).href), () => {})
    await a.press('/connect', '/acme/disconnect')
  }
  await reconnect()
  await reconnect()
  await call()
  await reconnect()
  const limited = await call()
  t.match(limited, { isError: true, content: [{ text: /Connect Acme to list your issues\. The user can do so in a browser at https:\/\/mcp\.example\.com\/connect and/ }] })
  for (let i = 0; i < 50; i++) await call()
  t.ok(rows.size <= 7, `${rows.size} rows: three of the client, three of the page, and no more`)
  t.equal(server.log.filter(line => line.includes('limits.elicitations')).length, 1)

  const other = await server.openSession({ user: A, clientId: 'client-2' })
  t.equal((await other.client.callTool({ name: 'issues' }).catch(error => error)).code, -32042, 'another client of the same user')
  await server.elicit(B)
})

t.test('RLM-06 what a client uses up is not the user\'s: the page always has a link', async t => {
  const server = await startServer(t, { limits: { elicitations: { max: 1, windowMs: MINUTE_MS } } })
  const { client } = await server.openSession({ user: A, capabilities: {} })
  const call = async (): Promise<unknown> => await client.callTool({ name: 'issues' })
  await call()
  const a = server.browser(A)
  for (let i = 0; i < 3; i++) {
    const { location } = (await a.press('/connect', '/acme/connect')).headers
    t.match(location, /^https:/)
    await a.press(String(location), '/decline')
    await call()
  }
  t.match(server.log.join(''), 'limits.elicitations')
  t.equal((await a.press('/connect', '/other/connect')).statusCode, 303)
})

t.test('RLM-08 the login is limited by address before anybody is signed in', async t => {
  const server = await startWithLogin(t, { limits: { address: few } })
  const stranger = server.browser(null)
  const statuses = []
  for (let i = 0; i < 3; i++) statuses.push((await stranger.get('/connect/login')).statusCode)
  t.strictSame(statuses, [303, 303, 303])
  for (const event of ['ratelimit.hit', null] as const) await refused(t, server, () => stranger.get('/connect/login'), { ...RATE_LIMITED, event })
})

t.test('RLM-08 what is refused before anybody is known is limited, too', async t => {
  const server = await startServer(t, { limits: { address: few } })
  const start = `/connect/${'x'.repeat(43)}/start`
  const browser = server.browser(A)
  const before = server.log.length
  const statuses = []
  for (let i = 0; i < 3; i++) statuses.push((await browser.post(start, {}, { 'content-type': 'application/json' })).statusCode)
  t.strictSame(statuses, [415, 415, 415])
  for (const event of ['ratelimit.hit', null] as const) {
    await refused(t, server, () => browser.post(start, {}, { 'content-type': 'application/json' }), { ...RATE_LIMITED, event, user: null })
  }
  const lines = server.log.slice(before).filter(line => line.includes('mcp-connect: ') && /"level":[3-6]0/.test(line))
  t.equal(lines.length, 4, 'nor is each of them logged')

  const withLogin = await startWithLogin(t, { limits: { address: few } })
  const cookie = '__Host-mcp-connect-session=x; __Host-mcp-connect-session=y'
  const others = []
  for (let i = 0; i < 5; i++) others.push((await withLogin.browser(null).get('/connect', { cookie })).statusCode)
  t.strictSame(others, [400, 400, 400, 429, 429])
})

t.test('behind a Unix domain socket there are no addresses, and all visitors without a session count as one', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(mcpConnect, options({ limits: { address: few } }))
  const socketPath = join(mkdtempSync(join(tmpdir(), 'mcp-connect-')), 'socket')
  await app.listen({ path: socketPath })
  const status = async (headers = {}): Promise<number | undefined> => {
    const [response] = await once(request({ socketPath, path: '/connect', headers }).end(), 'response') as [IncomingMessage]
    response.resume()
    return response.statusCode
  }
  t.strictSame([await status(), await status(), await status(), await status()], [401, 401, 401, 429])
  t.equal(await status({ [USER_HEADER]: 'a' }), 200)
})

t.test('RLM-07 processes that ask at once count once each, however often they lose the race', async t => {
  const { state } = memoryStore()
  const sealer = createSealer(createKeyRing([randomBytes(32)]))
  const ask = (): Promise<unknown> => {
    const services = { state, sealer, declines: createDeclines({ state, sealer }, 0), audit: () => {} }
    const limiter = createLimiter('elicitations', { max: 10, windowMs: MINUTE_MS }, state, () => {})
    return createElicitations({ ...services, limiter }, MINUTE_MS)
      .request({ id: 'client' }, { principal: A, provider: 'acme', scopes: [], reasons: [] }).then(link => link?.id, error => error.code)
  }
  const asked = await Promise.all(Array.from({ length: 10 }, ask))
  t.equal(new Set(asked).size, 1, String(asked))
  t.match(asked[0], /^[\w-]{43}$/)
})

t.test('a client without URL mode gets its text, whether or not the page may have another link', async t => {
  const server = await startServer(t, { limits: { elicitations: { max: 1, windowMs: MINUTE_MS } } })
  const session = await server.openSession({ user: A, capabilities: {} })
  await session.client.callTool({ name: 'issues' })
  const a = server.browser(A)
  await a.press(String((await a.press('/connect', '/acme/connect')).headers.location), '/decline')
  t.match(await session.client.callTool({ name: 'issues' }), { isError: true, content: [{ text: /^Connect Acme to list your issues\..*then call this again\.$/ }] })
  t.match(server.log.join(''), 'limits.elicitations')
})

t.test('a fault, and what the host refuses, is told as it is, however often', async t => {
  for (const [identify, statusCode] of [
    [() => { throw new Error('the session database is away') }, 500],
    [() => { throw Object.assign(new Error('no'), { statusCode: 403 }) }, 403]
  ] as const) {
    const server = await startServer(t, { limits: { address: few }, browser: { identify } })
    for (let i = 0; i < 5; i++) t.equal((await server.browser(A).get('/connect')).statusCode, statusCode)
  }
})

t.test('a store that does not answer when it should count holds nobody up', async t => {
  const store = memoryStore()
  let hangs = false
  const count: typeof store.state.count = async (...args) => hangs ? await new Promise(() => {}) : await store.state.count(...args)
  const server = await startServer(t, { store: { ...store, state: { ...store.state, count } } })
  hangs = true
  const { setTimeout } = globalThis
  const waits: unknown[] = []
  t.intercept(globalThis, 'setTimeout', {
    value: (work: () => void, ms: number, ...args: []) => {
      waits.push(ms)
      return setTimeout(work, ms === 1000 ? 1 : ms, ...args)
    }
  })
  t.equal((await server.browser(null).get('/connect')).statusCode, 303)
  t.ok(waits.includes(1000))
})

t.test('what a client wants beyond its limit is asked for on the link that the user has', async t => {
  const server = await startServer(t, { limits: { elicitations: { max: 1, windowMs: MINUTE_MS } } })
  await server.elicit(A)
  const a = server.browser(A)
  const link = String((await a.press('/connect', '/other/connect')).headers.location)
  const mcp = new McpServer({ name: 'test', version: '1.0.0' })
  const { requireConnection } = server.app.mcpConnect.for(mcp)
  mcp.registerTool('change', {}, requireConnection('other', { scopes: ['issues:write'], reason: 'to change them' }, async () => ({ content: [] })))
  const { client, close } = await openMcpSession(mcp, { user: A })
  t.teardown(close)
  t.match(await client.callTool({ name: 'change' }), { isError: true, content: [{ text: /^Connect Acme to change them\./ }] })
  t.match((await a.get(link)).body, /to change them.*issues:write/s)
})
