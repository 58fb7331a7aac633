import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { McpServer } from '@modelcontextprotocol/server'
import t, { type Test } from 'tap'
import { sdks, seen, startEndpoint, type Endpoint } from '../fixtures/endpoint.js'

type Client = Pick<ClientV1, 'callTool' | 'close'>

interface Kind {
  readonly connect: (endpoint: Endpoint) => Promise<{ readonly client: Client, readonly version: string | undefined, terminate (): Promise<void> }>
  /** What it comes to speak with servers of either SDK. */
  readonly speaks: Readonly<Record<'v1' | 'v2', string>>
}

const info = { name: 'test', version: '1.0.0' }

async function connectV2 ({ url, token }: Endpoint, mode: 'legacy' | 'auto'): ReturnType<Kind['connect']> {
  const transport = new TransportV2(url, { requestInit: { headers: { authorization: `Bearer ${await token()}` } } })
  const client = new ClientV2(info, { versionNegotiation: { mode } })
  await client.connect(transport)
  return { client: client as unknown as Client, version: client.getNegotiatedProtocolVersion(), terminate: async () => await transport.terminateSession() }
}

const kinds: Readonly<Record<string, Kind>> = {
  'a client of SDK v1': {
    async connect ({ url, token }) {
      const transport = new TransportV1(url, { requestInit: { headers: { authorization: `Bearer ${await token()}` } } })
      const client = new ClientV1(info)
      await client.connect(transport)
      return { client, version: transport.protocolVersion, terminate: async () => await transport.terminateSession() }
    },
    speaks: { v1: '2025-11-25', v2: '2025-11-25' }
  },
  'a client of SDK v2 that does not ask': { connect: async endpoint => await connectV2(endpoint, 'legacy'), speaks: { v1: '2025-11-25', v2: '2025-11-25' } },
  'a client of SDK v2 that asks': { connect: async endpoint => await connectV2(endpoint, 'auto'), speaks: { v1: '2025-11-25', v2: '2026-07-28' } }
}

for (const sdk of ['v1', 'v2'] as const) {
  for (const [name, { connect, speaks }] of Object.entries(kinds)) {
    t.test(`${name}, and a server of SDK ${sdk}, speak ${speaks[sdk]}`, async t => {
      const calls = seen()
      const endpoint = await startEndpoint(t, () => sdks[sdk](calls))
      const { client, version, terminate } = await connect(endpoint)
      t.equal(version, speaks[sdk])
      const sessions = endpoint.servers.length
      t.match(await client.callTool({ name: 'whoami', arguments: {} }), { content: [{ text: 'a' }] })
      t.match(calls.authInfo, [{ clientId: 'client-1', scopes: ['openid', 'mcp:tools'], extra: { iss: endpoint.issuer.issuer, sub: 'a' } }])
      t.equal(endpoint.servers.length - sessions, speaks[sdk] === '2026-07-28' ? 1 : 0, 'a server for each request, or one for all')
      if (speaks[sdk] !== '2026-07-28') t.equal(sessions, 1, 'asking made none')
      await terminate()
      await client.close()
    })
  }
}

const envelope = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': info,
  'io.modelcontextprotocol/clientCapabilities': {}
}

/** A call of MCP 2026-07-28, by hand. */
async function call (endpoint: Endpoint, token: string, name: string, signal?: AbortSignal): Promise<Response> {
  return await fetch(endpoint.url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': name
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name, arguments: {}, _meta: envelope } }),
    ...signal !== undefined && { signal }
  })
}

async function until (condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(resolve => setImmediate(resolve))
}

async function startV2 (t: Test): Promise<{ endpoint: Endpoint, calls: ReturnType<typeof seen>, own: string }> {
  const calls = seen()
  const endpoint = await startEndpoint(t, () => sdks.v2(calls))
  return { endpoint, calls, own: await endpoint.token() }
}

t.test('2026-07-28: each request is verified by itself', async t => {
  const { endpoint, own } = await startV2(t)
  t.equal((await call(endpoint, await endpoint.token('a', { exp: 1 }), 'whoami')).status, 401)
  t.equal((await call(endpoint, await endpoint.token('a', { scope: 'openid' }), 'whoami')).status, 403)
  t.equal(endpoint.servers.length, 0)
  const response = await call(endpoint, own, 'whoami')
  t.notOk(response.headers.has('mcp-session-id'))
  t.match(await response.json(), { id: 7, result: { content: [{ text: 'a' }] } })
  t.match(await (await call(endpoint, await endpoint.token('b'), 'whoami')).json(), { result: { content: [{ text: 'b' }] } })
})

t.test('2026-07-28: a client that goes aborts its call', async t => {
  const { endpoint, calls, own } = await startV2(t)
  const gone = new AbortController()
  const answer = call(endpoint, own, 'wait', gone.signal)
  await until(() => calls.waiting.length === 1)
  t.equal(calls.aborted, 0)
  gone.abort()
  await t.rejects(answer, { name: 'AbortError' })
  await until(() => calls.aborted === 1)
  calls.waiting[0]!()
})

t.test('2026-07-28: the application closes at once, with calls that are running', async t => {
  const { endpoint, calls, own } = await startV2(t)
  const answer = call(endpoint, own, 'wait').then(({ status }) => status, () => 'cut off')
  await until(() => calls.waiting.length === 1)
  const startedAt = performance.now()
  await endpoint.app.close()
  t.ok(performance.now() - startedAt < 20_000, 'it does not wait for clients')
  t.equal(calls.aborted, 1)
  calls.waiting[0]!()
  t.ok(['cut off', 499].includes(await answer))
})

const PIECE = 'x'.repeat(1 << 20)

async function startWithMuch (t: Test): Promise<Endpoint> {
  return await startEndpoint(t, () => {
    const server = new McpServer({ name: 'test', version: '1.0.0' })
    server.registerTool('much', {}, async () => ({ content: Array.from({ length: 20 }, () => ({ type: 'text' as const, text: PIECE })) }))
    return server
  })
}

t.test('2026-07-28: a client that does not read keeps no application open', async t => {
  const endpoint = await startWithMuch(t)
  const response = await call(endpoint, await endpoint.token(), 'much')
  const startedAt = performance.now()
  await endpoint.app.close()
  t.ok(performance.now() - startedAt < 20_000)
  await t.rejects(response.text(), 'it was cut off')
})

t.test('2026-07-28: a client that reads slowly gets all of it', async t => {
  const endpoint = await startWithMuch(t)
  const response = await call(endpoint, await endpoint.token(), 'much')
  let length = 0
  for await (const chunk of response.body!) {
    length += chunk.length
    await new Promise(resolve => setImmediate(resolve))
  }
  t.ok(length > 20 * PIECE.length)
})

t.test('a revision that nobody knows is refused, and the client is told which are known', async t => {
  const { endpoint, own } = await startV2(t)
  const response = await endpoint.request('POST', own, { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: { ...envelope, 'io.modelcontextprotocol/protocolVersion': '2099-01-01' } } },
    { 'mcp-protocol-version': '2099-01-01', 'mcp-method': 'tools/list' })
  t.equal(response.status, 400)
  t.match(await response.json(), { id: 1, error: { code: -32022, data: { supported: ['2026-07-28'] } } })
  t.equal(endpoint.servers.length, 0)
})

t.test('2026-07-28: why a server cannot be made is told to the operator alone', async t => {
  let broken = false
  const endpoint = await startEndpoint(t, () => {
    if (broken) throw new Error('canary of the host')
    return sdks.v2(seen())
  })
  broken = true
  const response = await call(endpoint, await endpoint.token(), 'whoami')
  t.equal(response.status, 500)
  t.notMatch(await response.text(), /canary/)
  t.match(endpoint.log.map(line => JSON.parse(line)).filter(({ level }) => level === 50), [{ err: { message: 'canary of the host' } }])
})
