import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitationCompleteNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import t, { type Test } from 'tap'
import { stopClock } from '../fixtures/clock.js'
import { issuesServers, startMcpServer, type McpTestServer } from '../fixtures/mcp-server.js'

// Clients as they are in the field: each ends connected, or with a text that is of use, and none goes round in circles.

const PAGE = 'https://mcp.example.com/connect'
const URL_MODE = { elicitation: { form: {}, url: {} } }
const ISSUES = { content: [{ text: /The rabbit hole is too deep/ }] }

/** A client of 2025-11-25 in an MCP session, with its stream for notifications. */
async function open2025 (t: Test, { url, token }: McpTestServer): Promise<{ client: Client, completed: string[] }> {
  const client = new Client({ name: 'field', version: '1.0.0' }, { capabilities: URL_MODE })
  const completed: string[] = []
  client.setNotificationHandler(ElicitationCompleteNotificationSchema, ({ params }) => { completed.push(params.elicitationId) })
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { authorization: `Bearer ${token}` } } }))
  t.teardown(() => client.close())
  return { client, completed }
}

/** A client of 2026-07-28 whose person, or program, answers so. */
async function open2026 (t: Test, { url, token }: McpTestServer, answer: () => object): Promise<{ client: ClientV2, asked: string[] }> {
  const client = new ClientV2({ name: 'field', version: '1.0.0' }, { capabilities: URL_MODE, versionNegotiation: { mode: 'auto' } })
  const asked: string[] = []
  client.setRequestHandler('elicitation/create', ({ params }) => {
    asked.push((params as { url: string }).url)
    return answer() as never
  })
  await client.connect(new TransportV2(new URL(url), { requestInit: { headers: { authorization: `Bearer ${token}` } } }))
  t.teardown(() => client.close())
  return { client, asked }
}

interface Required {
  readonly code: number
  readonly message: string
  readonly elicitations: ReadonlyArray<{ readonly url: string, readonly elicitationId: string }>
}

t.test('one that waits for the completion, without a limit, and calls again once', async t => {
  const server = await startMcpServer(t, issuesServers.v1)
  const { client, completed } = await open2025(t, server)
  const { elicitations: [elicitation] } = await client.callTool({ name: 'issues' }).catch(error => error) as Required
  await server.connect(elicitation!.url)
  while (!completed.includes(elicitation!.elicitationId)) await new Promise(resolve => setImmediate(resolve))
  t.match(await client.callTool({ name: 'issues' }), ISSUES)
})

t.test('one that ignores the completion and calls again at once, three times', async t => {
  const server = await startMcpServer(t, issuesServers.v1)
  const { client } = await open2025(t, server)
  const errors: Required[] = []
  for (let call = 0; call < 4; call++) errors.push(await client.callTool({ name: 'issues' }).catch(error => error) as Required)
  t.equal(new Set(errors.map(({ elicitations }) => elicitations[0]!.url)).size, 1, 'one link')
  t.ok(errors.every(({ code, message }) => code === -32042 && message.includes(PAGE)), 'what it shows then names the page')
  await server.connect(errors[0]!.elicitations[0]!.url)
  t.match(await client.callTool({ name: 'issues' }), ISSUES)
})

t.test('one that declares URL mode in 2025-06-18, and handles nothing: its raw error names the page', async t => {
  const { url, token } = await startMcpServer(t, issuesServers.v1)
  const post = async (body: object, session?: string): Promise<Response> => await fetch(url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...session !== undefined && { 'mcp-session-id': session, 'mcp-protocol-version': '2025-06-18' }
    },
    body: JSON.stringify({ jsonrpc: '2.0', ...body })
  })
  const opened = await post({ id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: URL_MODE, clientInfo: { name: 'field', version: '1.0.0' } } })
  t.match(await opened.text(), /"protocolVersion":"2025-06-18"/)
  const session = opened.headers.get('mcp-session-id')!
  await (await post({ method: 'notifications/initialized' }, session)).text()
  const answer = await (await post({ id: 2, method: 'tools/call', params: { name: 'issues' } }, session)).text()
  t.match(answer, /"code":-32042,"message":"Connect Acme to list your issues\. The user can do so in a browser at https:\/\/mcp\.example\.com\/connect and/)
})

t.test('one of 2026-07-28 that accepts at once, with content', async t => {
  const server = await startMcpServer(t, issuesServers.v2, { waitMs: 100 })
  const { client, asked } = await open2026(t, server, () => ({ action: 'accept', content: {} }))
  t.match(await client.callTool({ name: 'issues' }), { isError: true, content: [{ text: /^Connecting Acme is not finished yet\. .*https:\/\/mcp\.example\.com\/connect/ }] })
  t.equal(asked.length, 1, 'asked once')
  await server.connect(asked[0]!)
  t.match(await client.callTool({ name: 'issues' }), ISSUES)
  t.equal(asked.length, 1)
})

t.test('one of 2026-07-28 whose user connects while the call waits', async t => {
  const server = await startMcpServer(t, issuesServers.v2)
  let connecting: Promise<void> | undefined
  const { client, asked } = await open2026(t, server, () => {
    connecting = server.connect(asked.at(-1)!)
    return { action: 'accept' }
  })
  t.match(await client.callTool({ name: 'issues' }), ISSUES)
  await connecting
  t.equal(asked.length, 1)
})

t.test('one of 2026-07-28 that cancels, or declines, before anybody can have read', async t => {
  for (const action of ['cancel', 'decline']) {
    const server = await startMcpServer(t, issuesServers.v2)
    stopClock(t)
    const { client, asked } = await open2026(t, server, () => ({ action }))
    for (const call of [1, 2]) {
      t.match(await client.callTool({ name: 'issues' }), { isError: true, content: [{ text: /^Connect Acme to list your issues\. .*https:\/\/mcp\.example\.com\/connect/ }] }, action)
      t.equal(asked.length, call)
    }
  }
})
