import cors from '@fastify/cors'
import Fastify, { type FastifyBaseLogger, type FastifyReply, type FastifyRequest } from 'fastify'
import { EventEmitter, once } from 'node:events'
import { request } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { McpConnect } from '../../lib/decorator.js'
import type { AuthInfo } from '../../lib/endpoint/bearer.js'
import { mcpEndpoint, type EndpointServer, type McpEndpointOptions } from '../../lib/endpoint/index.js'
import { createSessions } from '../../lib/endpoint/sessions.js'
import type { EndpointSettings } from '../../lib/endpoint/types.js'
import { INITIALIZE, sdks, seen, startEndpoint, type Endpoint, type Seen } from '../fixtures/endpoint.js'

interface Started extends Endpoint {
  readonly calls: Seen
  /** Calls a tool in a session. */
  call (token: string, session: string, name: string, signal?: AbortSignal): Promise<Response>
  /** Opens the stream of a session. */
  stream (token: string, session: string, signal?: AbortSignal): Promise<Response>
  /** Whether a server is closed before long. */
  closed (index: number): Promise<boolean>
}

const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
const inSession = (session: string): Record<string, string> => ({ 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' })

async function until (condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(resolve => setImmediate(resolve))
}

/** Asks again until it is so: what one side has done, the other one learns by and by. */
async function becomes (t: Test, ask: () => Promise<number>, status: number): Promise<void> {
  let last = 0
  for (let tries = 0; tries < 200 && last !== status; tries++) last = await ask()
  t.equal(last, status)
}

async function start (t: Test, sdk: 'v1' | 'v2', options?: Parameters<typeof startEndpoint>[2]): Promise<Started> {
  const calls = seen()
  const closings: Array<Promise<void>> = []
  const endpoint = await startEndpoint(t, () => {
    const server = sdks[sdk](calls)
    closings.push(new Promise(resolve => { Object.assign(server.server, { onclose: resolve }) }))
    return server
  }, options)
  const { request, url } = endpoint
  return {
    ...endpoint,
    calls,
    call: async (token, session, name, signal) => await fetch(url, {
      method: 'POST',
      headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json', authorization: `Bearer ${token}`, ...inSession(session) },
      body: JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name, arguments: {} } }),
      ...signal !== undefined && { signal }
    }),
    stream: async (token, session, signal) => await fetch(url, {
      headers: { accept: 'text/event-stream', authorization: `Bearer ${token}`, ...inSession(session) }, ...signal !== undefined && { signal }
    }),
    // The first two are those of start-up.
    closed: async index => await Promise.race([closings[index + 2]!.then(() => true), setTimeout(30_000, false, { ref: false })]),
    request
  }
}

for (const sdk of ['v1', 'v2'] as const) {
  t.test(`${sdk}: a session is used by the user and the client that opened it; for others there is none`, async t => {
    const { initialize, token, request, call } = await start(t, sdk)
    const own = await token('a')
    const session = await initialize(own)
    const other = await initialize(await token('b'))
    const unknown = await (await request('POST', own, ping, inSession('unknown'))).text()
    const strangers = {
      'another user': await token('b'),
      'another client': await token('a', { client_id: 'client-2' })
    }
    for (const [name, stranger] of Object.entries(strangers)) {
      for (const method of ['POST', 'GET', 'DELETE']) {
        const response = await request(method, stranger, method === 'POST' ? ping : undefined, inSession(session))
        t.equal(response.status, 404, `${name}, ${method}`)
        t.equal(await response.text(), unknown, 'as if it were not there')
      }
    }
    t.equal((await request('POST', own, ping, inSession(other))).status, 404)
    const quoted = await initialize(await token('a', { client_id: 'b","c' }))
    t.equal((await request('POST', await token('a","b', { client_id: 'c' }), ping, inSession(quoted))).status, 404, 'a user and a client that read alike')
    t.match(await (await call(await token('a', { scope: 'mcp:tools', jti: 'a newer token' }), session, 'whoami')).text(), /"text":"a"/, 'and by them with any token')
    t.match(unknown, /"code":-32001/)
  })

  t.test(`${sdk}: what does not begin a session makes no server`, async t => {
    const { request, token, servers, initialize } = await start(t, sdk)
    const own = await token()
    const { params } = INITIALIZE
    const probes: Readonly<Record<string, unknown>> = {
      'a probe': { jsonrpc: '2.0', id: 1, method: 'server/discover', params: {} },
      'a call': { ...ping, method: 'tools/list' },
      'a notification': { jsonrpc: '2.0', method: 'notifications/initialized' },
      'an answer': { jsonrpc: '2.0', id: 1, result: {} },
      'a batch': [INITIALIZE],
      'an empty batch': [],
      'no request': { ...INITIALIZE, id: undefined },
      'no JSON-RPC': { ...INITIALIZE, jsonrpc: '1.0' },
      'no parameters': { ...INITIALIZE, params: {} },
      'no client': { ...INITIALIZE, params: { ...params, clientInfo: undefined } },
      'no version': { ...INITIALIZE, params: { ...params, protocolVersion: 1 } },
      null: 'null',
      'no object': '"initialize"',
      'no JSON': '{',
      poison: `{"__proto__":{},${JSON.stringify(INITIALIZE).slice(1)}`
    }
    for (const [name, body] of Object.entries(probes)) {
      const response = await request('POST', own, body)
      t.equal(response.status, 400, name)
      t.match(await response.json(), { jsonrpc: '2.0', error: { code: Number } }, name)
    }
    t.equal((await request('GET', own)).status, 400)
    t.equal((await request('DELETE', own)).status, 400)
    t.equal((await request('POST', own, 'x', { 'content-type': 'text/plain' })).status, 415)
    t.equal((await request('POST', own, 'x'.repeat(2 << 20))).status, 413)
    t.equal(servers.length, 0)

    const refused = await request('POST', own, INITIALIZE, { accept: 'application/json' })
    t.equal(refused.status, 406, 'what the SDK refuses')
    t.ok(await initialize(own))
    t.equal((await request('POST', own, INITIALIZE, inSession(await initialize(own)))).status, 400, 'it begins once')
  })

  t.test(`${sdk}: DELETE ends a call that is running, without an answer`, async t => {
    const { request, token, initialize, call, calls } = await start(t, sdk, { jsonResponse: true })
    const own = await token()
    const session = await initialize(own)
    const answer = call(own, session, 'wait').then(async response => await response.text()).catch(() => 'cut off')
    await until(() => calls.waiting.length === 1)
    t.equal((await request('DELETE', own, undefined, inSession(session))).status, 200)
    t.equal(await answer, 'cut off')
    calls.waiting[0]!()
  })

  t.test(`${sdk}: DELETE ends a session`, async t => {
    const { request, token, initialize, closed, stream } = await start(t, sdk)
    const own = await token()
    const session = await initialize(own)
    const open = await stream(own, session)
    t.equal((await request('DELETE', own, undefined, inSession(session))).status, 200)
    t.ok(await closed(0), 'its server is closed')
    t.equal(await open.text(), '', 'its stream has ended')
    t.equal((await request('POST', own, ping, inSession(session))).status, 404)
  })

  t.test(`${sdk}: a session without use ends; a call and an open stream are uses`, async t => {
    const { request, token, initialize, closed, stream, call, calls } = await start(t, sdk, { sessionIdleMs: 2500 })
    const own = await token()
    const [unused, streaming, calling] = [await initialize(own), await initialize(own), await initialize(own)]
    const gone = new AbortController()
    await stream(own, streaming, gone.signal)
    const answer = call(own, calling, 'wait')
    await until(() => calls.waiting.length === 1)
    t.ok(await closed(0), 'its server is closed')
    t.equal((await request('POST', own, ping, inSession(unused))).status, 404)
    t.equal((await request('POST', own, ping, inSession(streaming))).status, 200)
    calls.waiting[0]!()
    t.match(await (await answer).text(), /waited/)
    t.equal((await request('POST', own, ping, inSession(calling))).status, 200)
    t.ok(await closed(2), 'its server is closed')
    t.equal((await request('POST', own, ping, inSession(streaming))).status, 200, 'its stream is open')
    gone.abort()
    t.ok(await closed(1), 'its server is closed')
    t.equal((await request('POST', own, ping, inSession(streaming))).status, 404)
  })

  t.test(`${sdk}: there are so many sessions, and no more`, async t => {
    const { request, token, initialize, servers } = await start(t, sdk, { maxSessions: 2 })
    const [a, b, c] = [await token('a'), await token('b'), await token('c')]
    const session = await initialize(a)
    await initialize(b)
    const full = await request('POST', c, INITIALIZE)
    t.equal(full.status, 503)
    t.match(Number(full.headers.get('retry-after')), 60)
    t.match(await full.json(), { jsonrpc: '2.0', error: { code: -32000 } })
    t.equal(servers.length, 2)
    await request('DELETE', a, undefined, inSession(session))
    await becomes(t, async () => (await request('POST', c, INITIALIZE)).status, 200)

    t.equal((await Promise.all(Array.from({ length: 5 }, async () => (await request('POST', a, INITIALIZE)).status))).filter(status => status === 200).length, 0, 'at once, too')
  })

  t.test(`${sdk}: a user has twenty; a new one ends that which was used least recently, without a running call`, async t => {
    const { request, token, initialize, call, calls, stream } = await start(t, sdk)
    const own = await token('a')
    const other = await initialize(await token('b'))
    const sessions: string[] = []
    for (let i = 0; i < 20; i++) sessions.push(await initialize(await token('a', { client_id: `client-${i}` })))
    const of = async (i: number): Promise<string> => await token('a', { client_id: `client-${i}` })
    const status = async (i: number): Promise<number> => (await request('POST', await of(i), ping, inSession(sessions[i]!))).status
    const answer = call(await of(0), sessions[0]!, 'wait')
    await until(() => calls.waiting.length === 1)
    t.equal(await status(1), 200, 'now the third is the one')
    const open = await stream(await of(3), sessions[3]!)
    for (const i of [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]) t.equal(await status(i), 200)

    t.ok(await initialize(own))
    t.equal(await status(2), 404)
    t.ok(await initialize(own))
    t.equal(await status(1), 404)
    t.ok(await initialize(own))
    t.equal(await open.text(), '', 'a stream alone does not keep it')
    t.equal(await status(3), 404)
    t.equal(await status(4), 200)
    calls.waiting[0]!()
    t.match(await (await answer).text(), /waited/)
    t.equal((await request('POST', await token('b'), ping, inSession(other))).status, 200, 'of others there may be more')
  })

  t.test(`${sdk}: a user whose sessions all have running calls gets no more`, async t => {
    const { request, token, initialize, call, calls } = await start(t, sdk)
    const own = await token('a')
    const answers = []
    for (let i = 0; i < 20; i++) answers.push(call(own, await initialize(own), 'wait'))
    await until(() => calls.waiting.length === 20)
    const response = await request('POST', own, INITIALIZE)
    t.equal(response.status, 429)
    t.match(Number(response.headers.get('retry-after')), 60)
    for (const resume of calls.waiting) resume()
    for (const answer of answers) t.match(await (await answer).text(), /waited/)
    await becomes(t, async () => (await request('POST', own, INITIALIZE)).status, 200)
  })

  for (const jsonResponse of [false, true]) {
    t.test(`${sdk}: the application closes at once, with streams and calls that are open${jsonResponse ? ', and answers in JSON' : ''}`, async t => {
      const { token, initialize, stream, call, calls, app, closed } = await start(t, sdk, { jsonResponse })
      const own = await token()
      const session = await initialize(own)
      const open = await stream(own, session)
      const answer = call(own, session, 'wait').then(async response => await response.text()).catch(() => 'cut off')
      await until(() => calls.waiting.length === 1)
      const startedAt = performance.now()
      await app.close()
      t.ok(performance.now() - startedAt < 20_000, 'it does not wait for clients')
      t.ok(await closed(0), 'its server is closed')
      t.equal(await open.text(), '')
      t.match(await answer, jsonResponse ? 'cut off' : /^$/)
      t.equal(calls.aborted, 1, 'the handler was told')
      calls.waiting[0]!()
    })
  }

  t.test(`${sdk}: headers that hooks have set reach the client, as those of CORS do`, async t => {
    const origin = 'https://app.example.com'
    const { request, token, initialize } = await start(t, sdk, {
      allowedOrigins: [origin], prepare: async app => await app.register(cors, { origin, exposedHeaders: ['mcp-session-id'] })
    })
    const own = await token()
    const session = await initialize(own)
    const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1.0.0' }, 'io.modelcontextprotocol/clientCapabilities': {} }
    const requests: ReadonlyArray<readonly [body: object, headers: Record<string, string>]> = [
      [INITIALIZE, {}],
      [{ ...ping, method: 'tools/list', params: {} }, inSession(session)],
      ...sdk === 'v2' ? [[{ ...ping, method: 'tools/list', params: { _meta } }, { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' }]] as const : []
    ]
    for (const [body, headers] of requests) {
      const response = await request('POST', own, body, { origin, ...headers })
      t.equal(response.status, 200)
      t.match(Object.fromEntries(response.headers), { 'access-control-allow-origin': origin, 'access-control-expose-headers': 'mcp-session-id' })
      await response.text()
    }
  })

  t.test(`${sdk}: the target of a request may name the host`, async t => {
    const { url, token } = await start(t, sdk)
    const headers = { authorization: `Bearer ${await token()}`, accept: 'application/json, text/event-stream', 'content-type': 'application/json' }
    const sent = request(url, { method: 'POST', path: url.href, agent: false, headers })
    sent.end(JSON.stringify(INITIALIZE))
    const [response] = await once(sent, 'response')
    t.equal(response.statusCode, 200)
    response.destroy()
  })

  t.test(`${sdk}: jsonResponse answers without a stream`, async t => {
    const { token, initialize, call } = await start(t, sdk, { jsonResponse: true })
    const own = await token()
    const response = await call(own, await initialize(own), 'whoami')
    t.match(response.headers.get('content-type'), /^application\/json/)
    t.match(await response.json(), { id: 7, result: { content: [{ text: 'a' }] } })
  })

  t.test(`${sdk}: createServer is tried at start-up, and must make a new server each time`, async t => {
    const wrong: ReadonlyArray<readonly [() => unknown, RegExp]> = [
      [() => { throw new Error('of the host') }, /^of the host$/],
      [() => undefined, /createServer must return an McpServer/],
      [async () => sdks[sdk](seen()), /createServer must return an McpServer/],
      [() => sdks[sdk](seen()).server, /createServer must return an McpServer/]
    ]
    for (const [createServer, message] of wrong) await t.rejects(startEndpoint(t, createServer as () => EndpointServer), { message })
    const shared = sdks[sdk](seen())
    await t.rejects(startEndpoint(t, () => shared), { code: 'FST_MCP_CONNECT_OPTIONS', message: /createServer must make a new McpServer each time/ })
    let made = 0
    const { request, token, log } = await startEndpoint(t, () => { made += 1; return made < 3 ? sdks[sdk](seen()) : shared })
    t.equal((await request('POST', await token(), INITIALIZE)).status, 200)
    const response = await request('POST', await token(), INITIALIZE)
    t.equal(response.status, 500)
    t.strictSame(await response.json(), { jsonrpc: '2.0', error: { code: -32603, message: 'Internal error' }, id: null })
    t.match(log.join(''), /createServer must make a new McpServer each time/)
  })

  t.test(`${sdk}: a session that takes long to begin is not ended for another one, and none outlives the application`, async t => {
    let connecting = 0
    let held: Promise<void> | undefined
    let closed = 0
    const { request, token, app, servers } = await startEndpoint(t, () => {
      const server = sdks[sdk](seen())
      const connect = server.connect.bind(server)
      return Object.assign(server, {
        async connect (transport: { close (): Promise<void> }) {
          const { close } = transport
          transport.close = async () => { closed += 1; await close.call(transport) }
          connecting += 1
          await held
          await connect(transport)
        }
      })
    })
    const own = await token()
    const open = async (): Promise<{ readonly status: number, readonly id: string }> => {
      const response = await request('POST', own, INITIALIZE)
      await response.text()
      return { status: response.status, id: response.headers.get('mcp-session-id')! }
    }
    const hold = (): () => void => {
      let letGo = (): void => {}
      held = new Promise(resolve => { letGo = resolve })
      return letGo
    }
    const letGo = hold()
    const opening = Array.from({ length: 20 }, open)
    await until(() => connecting === 20)
    t.equal((await request('POST', own, INITIALIZE)).status, 429)
    letGo()
    for (const { id } of await Promise.all(opening)) t.equal((await request('POST', own, ping, inSession(id))).status, 200)

    const letGoLate = hold()
    const late = open().catch(() => ({ status: 'cut off' }))
    await until(() => connecting === 21)
    const closing = app.close()
    await until(() => closed === 20)
    letGoLate()
    await closing
    t.ok(['cut off', 503].includes((await late).status))
    await until(() => closed === servers.length)
  })

  t.test(`${sdk}: a server that cannot be made leaves no session behind, and the client is not told why`, async t => {
    let broken = false
    const { request, token, log } = await startEndpoint(t, () => {
      // As errors of HTTP clients have it.
      if (broken) throw Object.assign(new Error('canary of the host'), { statusCode: 401 })
      return sdks[sdk](seen())
    }, { maxSessions: 1 })
    const own = await token()
    broken = true
    const response = await request('POST', own, INITIALIZE)
    t.equal(response.status, 500)
    t.notMatch(await response.text(), /canary/)
    t.match(log.map(line => JSON.parse(line)).filter(({ level }) => level === 50), [{ err: { message: 'canary of the host' } }, { msg: 'mcp-connect: a request to the MCP endpoint failed' }], 'the operator is told why')
    broken = false
    t.equal((await request('POST', own, INITIALIZE, { accept: 'application/json' })).status, 406)
    t.equal((await request('POST', own, INITIALIZE)).status, 200)
  })
}

t.test('what an endpoint lacks, or what stands in its way, is told at start-up, with the mend', async t => {
  const auth = { issuer: 'https://login.example.com', resource: 'https://mcp.example.com/mcp' }
  const start = async (decorator: object | undefined, options: Partial<McpEndpointOptions> = {}, registrations = 1): Promise<string[]> => {
    const log: string[] = []
    const app = Fastify({ logger: { stream: { write: (line: string) => { log.push(line) } } } })
    t.teardown(() => app.close())
    if (decorator !== undefined) app.decorate('mcpConnect', decorator as McpConnect)
    for (let time = 0; time < registrations; time += 1) {
      await app.register(mcpEndpoint, { createServer: () => { use(app); return sdks.v1(seen()) }, auth, ...options })
    }
    await app.ready()
    return log.filter(line => line.includes('mcp-connect'))
  }
  let use: (app: object) => unknown = () => {}
  const at = (baseUrl: string): object => ({ connectionsUrl: `${baseUrl}/connect`, for () {} })
  t.strictSame(await start(at('https://mcp.example.com')), [])
  t.match(await start(at('https://mcp.example.com'), { auth: { ...auth, resource: 'https://mcp.example.com' } }), [/at \/mcp here/])
  t.match(await start(at('https://mcp.example.com/mcp')), [/baseUrl is the address of the MCP endpoint.*https:\/\/mcp\.example\.com\/mcp\/connect/])
  t.match(await start(undefined, { path: '/v1' }), [/"level":30.*at \/v1 here.*https:\/\/mcp\.example\.com\/mcp/])
  await t.rejects(start(undefined, {}, 2), { code: 'FST_MCP_CONNECT_OPTIONS', message: /there is a route at \/mcp already/ })

  use = app => (app as { mcpConnect: { for (server: object): unknown } }).mcpConnect.for({})
  t.strictSame(await start(at('https://mcp.example.com')), [])
  await t.rejects(start(undefined), { code: 'FST_MCP_CONNECT_OPTIONS', message: /createServer has failed: Cannot read prop.*there is no app\.mcpConnect/, cause: TypeError })
  await t.rejects(start({}), TypeError)
  const cause = new Error('of the host')
  use = () => { throw cause }
  await t.rejects(start(undefined), cause, 'what the host throws is passed on as it is')
})

t.test('an endpoint is registered without a prefix', async t => {
  const app = Fastify()
  const ready = app.register(async child => {
    await child.register(mcpEndpoint, { createServer: () => sdks.v1(seen()), auth: { issuer: 'https://login.example.com', resource: 'https://mcp.example.com/mcp' } })
  }, { prefix: '/v1' })
  await t.rejects(async () => await ready, { code: 'FST_MCP_CONNECT_OPTIONS', message: /register it without a prefix/ })
})

t.test('once the application closes no session begins, and one that fails to end is told to the operator', async t => {
  const log: unknown[] = []
  let connected = 0
  const auth = { clientId: 'client-1', extra: { iss: 'https://login.example.com', sub: 'a' } } as unknown as AuthInfo
  const answer = new EventEmitter()
  const [request, reply] = [{ method: 'POST' } as FastifyRequest, { raw: answer } as unknown as FastifyReply]
  const sessions = createSessions({ sessionIdleMs: 1000, maxSessions: 1 } as EndpointSettings, async sessionId => {
    connected++
    return {
      sessionId,
      handle: async () => { answer.emit('close') },
      close: async () => { throw new Error('it does not end') }
    }
  }, { error: (...args: unknown[]) => { log.push(args) } } as unknown as FastifyBaseLogger)
  t.equal(await sessions.open(request, reply, auth), 'opened')
  await sessions.close()
  t.match(log, [[{ err: { message: 'it does not end' } }, 'mcp-connect: an MCP session failed to end']])
  t.equal(await sessions.open(request, reply, auth), 'too many')
  t.equal(connected, 1, 'no server was made')
})
