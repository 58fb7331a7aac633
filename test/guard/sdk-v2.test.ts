import { Client, type ClientCapabilities } from '@modelcontextprotocol/client'
import { Server as LowLevelV1 } from '@modelcontextprotocol/sdk/server/index.js'
import { CallToolRequestSchema, ReadResourceRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { InMemoryTransport, McpServer, Server, type JSONRPCMessage } from '@modelcontextprotocol/server'
import { createRequire } from 'node:module'
import t, { type Test } from 'tap'
import { BEARER, openMcpSession } from '../fixtures/mcp-session.js'
import { issuesServer, modernCaller } from '../fixtures/modern.js'
import { A, startServer, type TestServer } from '../fixtures/server.js'
import { loadWithoutPackages } from '../fixtures/without-packages.js'
import type { loadSdkV2 } from '../../lib/guard/sdk-v2-copy.js'
import type { Connection } from '../../lib/types.js'

const CONNECT = /^Connect Acme to list your issues\. The user can do so in a browser at https:\/\/mcp\.example\.com\/connect and should/

/** An MCP session of 2025-11-25, between SDK v2's client and a server of its. */
async function openSession (t: Test, server: { connect (transport: any): Promise<void> }, elicitation?: ClientCapabilities['elicitation']): Promise<{ client: Client, wire: JSONRPCMessage[], completed: string[] }> {
  const [clientSide, serverSide] = InMemoryTransport.createLinkedPair()
  const send = clientSide.send.bind(clientSide)
  const authInfo = { token: BEARER, clientId: 'client-1', scopes: [], extra: { iss: A.issuer, sub: A.subject, tid: A.tenant } }
  clientSide.send = (message, options) => send(message, { ...options, authInfo } as object)
  const wire: JSONRPCMessage[] = []
  const answer = serverSide.send.bind(serverSide)
  serverSide.send = (message, options) => {
    wire.push(structuredClone(message))
    return answer(message, options)
  }
  await server.connect(serverSide)
  const client = new Client({ name: 'test-client', version: '1.0.0' }, { capabilities: { ...elicitation !== undefined && { elicitation } } })
  const completed: string[] = []
  client.setNotificationHandler('notifications/elicitation/complete', ({ params }) => { completed.push(params.elicitationId) })
  await client.connect(clientSide)
  t.teardown(() => client.close())
  return { client, wire, completed }
}

/** What the server sent as the answer to the last request, as it was on the wire. */
function lastAnswer (wire: readonly JSONRPCMessage[]): Record<string, any> {
  return wire.findLast(message => 'id' in message) as Record<string, any>
}

t.test('CAP-01 CAP-09 SDK v2, an MCP session of 2025-11-25 without URL mode: the text, and no resultType', async t => {
  const server = await startServer(t)
  for (const elicitation of [undefined, {}, { form: {} }] as Array<ClientCapabilities['elicitation']>) {
    const { client, wire } = await openSession(t, issuesServer(server), elicitation)
    t.match(await client.callTool({ name: 'issues' }), { isError: true, content: [{ text: CONNECT }] })
    await t.rejects(client.getPrompt({ name: 'issues' }), { code: -31042, message: /connect and should then/ })
    await t.rejects(client.readResource({ uri: 'acme://issues' }), { code: -31042 })
    t.notMatch(JSON.stringify(wire), /resultType|-32042|elicitation\/create/)
  }
})

t.test('CAP-02 SDK v2, with URL mode: -32042 for tools, prompts and resources, and never an elicitation of the SDK\'s own making', async t => {
  const server = await startServer(t)
  const { client, wire } = await openSession(t, issuesServer(server), { url: {} })
  for (const call of [() => client.callTool({ name: 'issues' }), () => client.getPrompt({ name: 'issues' }), () => client.readResource({ uri: 'acme://issues' })]) {
    await t.rejects(call() as Promise<unknown>)
    const { error, result } = lastAnswer(wire)
    t.equal(result, undefined)
    t.equal(error.code, -32042)
    t.match(error.message, CONNECT)
    t.strictSame(Object.keys(error.data), ['elicitations'])
    const [elicited] = error.data.elicitations
    t.strictSame(elicited, { mode: 'url', elicitationId: elicited.elicitationId, url: `https://mcp.example.com/connect/${elicited.elicitationId}`, message: 'Connect Acme to list your issues.' })
  }
  t.notMatch(JSON.stringify(wire), /elicitation\/create|resultType/)
})

t.test('CAP-14 SDK v2: the session that was handed the link is told, and calls again', async t => {
  const server = await startServer(t)
  const { client, wire, completed } = await openSession(t, issuesServer(server), { url: {} })
  const other = await openSession(t, issuesServer(server), { url: {} })
  await client.callTool({ name: 'issues' }).catch(() => {})
  const { elicitationId, url } = lastAnswer(wire)['error'].data.elicitations[0]
  const browser = server.browser(A)
  await browser.get((await server.untilCallback(browser, url)).href)
  await Promise.all([client.ping(), other.client.ping()])
  t.strictSame([completed, other.completed], [[elicitationId], []])
  t.match(await client.callTool({ name: 'issues' }), { content: [{ text: /rabbit hole/ }] })
})

t.test('SDK v2 as CommonJS: its copies know each other', async t => {
  const server = await startServer(t)
  const { McpServer: Required, createMcpHandler: createHandler } = createRequire(import.meta.url)('@modelcontextprotocol/server') as typeof import('@modelcontextprotocol/server')
  t.not(Required, McpServer)
  const make = (): McpServer => {
    const mcpServer = new Required({ name: 'test', version: '1.0.0' })
    mcpServer.registerTool('issues', {}, server.app.mcpConnect.for(mcpServer).requireConnection('acme', () => ({ content: [] })))
    return mcpServer
  }
  const { client, wire } = await openSession(t, make(), { url: {} })
  await client.callTool({ name: 'issues' }).catch(() => {})
  t.equal(lastAnswer(wire)['error'].code, -32042)
  t.match((await modernCaller(t, A, make, { createHandler }).call('tools/call', { name: 'issues' })).result, { resultType: 'input_required' })
})

/** Guarded handlers of the protocol's own server, SDK v2. */
function lowLevel ({ app }: TestServer): Server {
  const server = new Server({ name: 'test', version: '1.0.0' }, { capabilities: { tools: {}, resources: {} } })
  const { requireConnection } = app.mcpConnect.for(server)
  const options = { reason: 'to list your issues' }
  server.setRequestHandler('tools/call', requireConnection('acme', options, async (_connection, request) => ({ content: [{ type: 'text', text: `ran ${request.params.name}` }] })))
  server.setRequestHandler('resources/read', requireConnection('acme', options, async (connection: Connection, request) => ({ contents: [{ uri: request.params.uri, text: connection.provider }] })))
  return server
}

t.test('the protocol\'s own server of SDK v2: each era its own answer, and no -32042 on 2026-07-28', async t => {
  const server = await startServer(t)
  const { call, callStateless } = modernCaller(t, A, () => lowLevel(server))
  const modern = [await call('tools/call', { name: 'issues' }), await call('resources/read', { uri: 'acme://issues' })]
  for (const { result } of modern) t.match(result, { resultType: 'input_required', inputRequests: { 'connect:acme': { params: { mode: 'url' } } } })
  const undeclared = await call('tools/call', { name: 'issues' }, { capabilities: {} })
  t.match(undeclared, { error: undefined, result: { isError: true, content: [{ text: CONNECT }] } })
  t.match(await call('resources/read', { uri: 'acme://issues' }, { capabilities: {} }), { error: { code: -31042, message: CONNECT } })
  t.match(await callStateless('tools/call', { name: 'issues' }), { error: undefined, result: { isError: true, content: [{ text: CONNECT }] } })
  t.notMatch(JSON.stringify([modern, undeclared]), /-32042/)

  const { client, wire } = await openSession(t, lowLevel(server), { url: {} })
  for (const call of [() => client.callTool({ name: 'issues' }), () => client.readResource({ uri: 'acme://issues' })]) {
    await t.rejects(call() as Promise<unknown>)
    t.match(lastAnswer(wire), { error: { code: -32042, message: CONNECT, data: { elicitations: [{ mode: 'url' }] } } })
  }
  const { url } = lastAnswer(wire)['error'].data.elicitations[0]
  const browser = server.browser(A)
  await browser.get((await server.untilCallback(browser, url)).href)
  t.match(await client.callTool({ name: 'issues' }), { content: [{ text: 'ran issues' }] })
  t.match(await call('resources/read', { uri: 'acme://issues' }), { result: { contents: [{ text: 'acme' }] } })
})

t.test('the protocol\'s own server of SDK v1: the same', async t => {
  const server = await startServer(t)
  const make = (): LowLevelV1 => {
    const low = new LowLevelV1({ name: 'test', version: '1.0.0' }, { capabilities: { tools: {}, resources: {} } })
    const { requireConnection } = server.app.mcpConnect.for(low)
    low.setRequestHandler(CallToolRequestSchema, requireConnection('acme', { reason: 'to list your issues' }, async (_connection, request, { signal }) =>
      ({ content: [{ type: 'text', text: `ran ${request.params.name} ${signal.aborted}` }] })))
    low.setRequestHandler(ReadResourceRequestSchema, requireConnection('acme', { reason: 'to list your issues' }, async () => ({ contents: [] })))
    return low
  }
  const undeclared = await openMcpSession(make(), { user: A, capabilities: {} })
  t.match(await undeclared.client.callTool({ name: 'issues' }), { isError: true, content: [{ text: CONNECT }] })
  await t.rejects(undeclared.client.readResource({ uri: 'acme://issues' }), { code: -31042 })
  const { client, wire } = await openMcpSession(make(), { user: A })
  await t.rejects(client.callTool({ name: 'issues' }), { code: -32042 })
  const { url } = (wire.at(-1) as Record<string, any>)['error'].data.elicitations[0]
  const browser = server.browser(A)
  await browser.get((await server.untilCallback(browser, url)).href)
  t.match(await client.callTool({ name: 'issues' }), { content: [{ text: 'ran issues false' }] })
  for (const session of [undeclared, { client }]) await session.client.close()
})

t.test('a server of SDK v2 that this package cannot load', async t => {
  const { createGuard } = await import('../../lib/guard/create-guard.js')
  const services = { copies: [], loadSdkV2: () => null, providers: new Map(), decide: async () => { throw new Error('not reached') } }
  for (const server of [new McpServer({ name: 'test', version: '1.0.0' }), new Server({ name: 'test', version: '1.0.0' })]) {
    t.throws(() => createGuard({ ...services, server }), { code: 'FST_MCP_CONNECT_SDK_UNREACHABLE', message: /npm ls @modelcontextprotocol\/server/ })
  }
})

t.test('an application without SDK v2 starts, and hears of it when it makes a guard for it', async t => {
  const { loadSdkV2: loadNone } = await loadWithoutPackages<{ loadSdkV2: typeof loadSdkV2 }>(t, 'guard/sdk-v2-copy.ts', 'mcp-sdks.ts', 'package-copies.mts')
  t.equal(loadNone(), null)
})
