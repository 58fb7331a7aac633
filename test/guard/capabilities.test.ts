import t from 'tap'
import { A, B, startServer } from '../fixtures/server.js'
import { openMcpSession, type McpSession } from '../fixtures/mcp-session.js'

/** What the server sent as the answer to the last request, as it was on the wire. */
function lastAnswer ({ wire }: McpSession): Record<string, any> {
  return wire.findLast(message => 'id' in message) as Record<string, any>
}

t.test('CAP-01 a client that did not declare URL mode gets a text with the connections page', async t => {
  const server = await startServer(t)
  for (const elicitation of [undefined, {}, { form: {} }, { url: true }, { url: null }, { url: false }, { url: [] }, []]) {
    const session = await server.openSession({ user: A, capabilities: (elicitation === undefined ? {} : { elicitation }) as object }).catch(() => null)
    if (session === null) continue                     // the SDK itself refuses to send what is no capability
    await session.client.callTool({ name: 'issues' })
    const { result, error } = lastAnswer(session)
    t.equal(error, undefined)
    t.strictSame(result, {
      isError: true,
      content: [{ type: 'text', text: 'Connect Acme to list your issues. The user can do so in a browser at https://mcp.example.com/connect and should then call this again.' }]
    }, JSON.stringify(elicitation))
    t.notOk(session.wire.some(message => 'method' in message), 'the server asks for nothing')
  }
})

t.test('CAP-01 only an object declares the mode, whatever a server\'s SDK lets through', async t => {
  const server = await startServer(t)
  const session = await server.openSession({ user: A })
  for (const capabilities of [null, 7, [], {}, { elicitation: null }, { elicitation: [] }, { elicitation: true }, { elicitation: { url: null } },
    { elicitation: { url: true } }, { elicitation: { url: [] } }, { elicitation: { url: undefined } }, { elicitation: { url: 'yes' } }]) {
    session.server.server.getClientCapabilities = () => capabilities as never
    t.match(await session.client.callTool({ name: 'issues' }), { isError: true }, JSON.stringify(capabilities))
  }
  session.server.server.getClientCapabilities = () => ({ elicitation: { url: {} } })
  await t.rejects(session.client.callTool({ name: 'issues' }), { code: -32042 })
})

t.test('CAP-02 a client that declared URL mode gets -32042', async t => {
  const server = await startServer(t)
  for (const elicitation of [{ url: {} }, { form: {}, url: {} }]) {
    const session = await server.openSession({ user: A, capabilities: { elicitation } })
    await session.client.callTool({ name: 'issues' }).catch(() => {})
    const { error, result } = lastAnswer(session)
    t.equal(result, undefined)
    t.equal(error.code, -32042)
    t.match(error.message, /^Connect Acme .*https:\/\/mcp.example.com\/connect and should/, 'most clients show the message and nothing else')
    t.strictSame(Object.keys(error.data), ['elicitations'])
    const [elicited] = error.data.elicitations
    t.strictSame(Object.keys(elicited).sort(), ['elicitationId', 'message', 'mode', 'url'])
    t.equal(elicited.mode, 'url')
    t.equal(elicited.url, `https://mcp.example.com/connect/${elicited.elicitationId}`)
    t.equal(elicited.message, 'Connect Acme to list your issues.')
  }
})

t.test('CAP-10 a connected user is not asked', async t => {
  const server = await startServer(t)
  const { url, session } = await server.elicit(A)
  const browser = server.browser(A)
  await browser.get((await server.untilCallback(browser, url)).href)
  await session.client.callTool({ name: 'issues' })
  t.match(lastAnswer(session), { result: { content: [{ text: /rabbit hole/ }] } })
  const withoutUrlMode = await server.openSession({ user: A, capabilities: {} })
  t.match(await withoutUrlMode.client.callTool({ name: 'issues' }), { content: [{ text: /rabbit hole/ }] })
})

t.test('CAP-11 unknown capabilities, as with stateless serving, are no URL mode, unless the operator says so', async t => {
  for (const [whenCapabilityUnknown, expected] of [['fallback', { result: { isError: true } }], ['elicit', { error: { code: -32042 } }]] as const) {
    const server = await startServer(t, { whenCapabilityUnknown })
    const session = await server.openSession({ user: A })
    session.server.server.getClientCapabilities = () => undefined
    await session.client.callTool({ name: 'issues' }).catch(() => {})
    t.match(lastAnswer(session), expected)
    const undeclared = await server.openSession({ user: A, capabilities: {} })
    undeclared.server.server.getClientCapabilities = () => undefined
    await undeclared.client.callTool({ name: 'issues' }).catch(() => {})
    t.match(lastAnswer(undeclared), expected, 'also where no completion can be sent')
    const plain = await server.openSession({ user: A, capabilities: {} })
    t.match(await plain.client.callTool({ name: 'issues' }), { isError: true }, 'what is known to be undeclared stays so')
  }
})

t.test('CAP-14 completion goes to the MCP sessions that were handed the id, once, and to no other', async t => {
  const server = await startServer(t)
  const first = await server.elicit(A)
  const second = await server.elicit(A)
  t.equal(second.id, first.id, 'two sessions of one client share the record')
  await server.elicit(A)
  const other = await server.elicit(A, { clientId: 'client-2' })
  t.not(other.id, first.id, 'another client has another record')
  const stranger = await server.elicit({ ...A, subject: 'z' })
  await first.session.client.callTool({ name: 'issues' }).catch(() => {})

  const browser = server.browser(A)
  await browser.get((await server.untilCallback(browser, first.url)).href)
  t.strictSame(first.session.completed, [first.id])
  t.strictSame(second.session.completed, [first.id])
  t.strictSame(other.session.completed, [other.id], 'who waits for the same connection is told too, of its own id')
  t.strictSame(stranger.session.completed, [])
  t.match(first.session.wire.find(message => 'method' in message), {
    jsonrpc: '2.0', method: 'notifications/elicitation/complete', params: { elicitationId: first.id }
  })
})

t.test('REC-02 REC-13 the notification fails or is lost: what was stored stays, and the retry gets the result', async t => {
  const server = await startServer(t)
  const { url, session } = await server.elicit(A)
  const { notification } = session.server.server
  session.server.server.notification = async () => { throw new Error('no stream') }
  const browser = server.browser(A)
  t.equal((await browser.get((await server.untilCallback(browser, url)).href)).statusCode, 303)
  session.server.server.notification = notification
  t.strictSame(session.completed, [])
  t.match(await session.client.callTool({ name: 'issues' }), { content: [{ text: /rabbit hole/ }] })
  t.equal(server.acme.tokenRequests, 1)
})

t.test('REC-03 the client is gone: the tool works in a new session', async t => {
  const server = await startServer(t)
  const { url, session } = await server.elicit(A)
  await session.close()
  const browser = server.browser(A)
  t.equal((await browser.get((await server.untilCallback(browser, url)).href)).statusCode, 303)
  const later = await server.openSession({ user: A, clientId: 'client-9' })
  t.match(await later.client.callTool({ name: 'issues' }), { content: [{ text: /rabbit hole/ }] })
  t.equal(server.acme.tokenRequests, 1)
})

t.test('a thousand calls of one unconnected user: one record', async t => {
  const server = await startServer(t)
  const puts = new Set<string>()
  const { put, delete: remove } = server.store.state
  t.intercept(server.store.state, 'put', { value: async (...args: Parameters<typeof put>) => { puts.add(args[0]); return await put(...args) } })
  t.intercept(server.store.state, 'delete', { value: async (...args: Parameters<typeof remove>) => { puts.delete(args[0]); return await remove(...args) } })
  const session = await server.openSession({ user: A })
  const call = async (): Promise<string> => await session.client.callTool({ name: 'issues' }).then(() => '', error => error.elicitations[0].elicitationId)
  const ids = new Set(await Promise.all(Array.from({ length: 1000 }, call)))
  t.equal(ids.size, 1)
  t.strictSame([...puts].map(key => key.split(':')[0]).sort(), ['elicitation', 'live-elicitation'])
})

t.test('a store that loses its records: an answer, and no endless loop', async t => {
  const server = await startServer(t)
  const { get, put } = server.store.state
  let writes = 0
  t.intercept(server.store.state, 'get', { value: async (key: string) => key.startsWith('elicitation:') ? null : await get(key) })
  t.intercept(server.store.state, 'put', { value: async (...args: Parameters<typeof put>) => { writes++; return await put(...args) } })
  const session = await server.openSession({ user: A })
  t.match(await session.client.callTool({ name: 'issues' }), { isError: true, content: [{ text: /could not be looked up/ }] })
  t.ok(writes <= 6, `${writes} writes`)
})

t.test('CAP-14 a server that was connected to another client meanwhile: that one is told nothing', async t => {
  const server = await startServer(t)
  const first = await server.elicit(A)
  await first.session.close()
  const second = await openMcpSession(first.session.server, { user: B, clientId: 'client-2' })
  t.teardown(() => second.close())
  const browser = server.browser(A)
  t.equal((await browser.get((await server.untilCallback(browser, first.url)).href)).statusCode, 303)
  await second.client.ping()
  t.strictSame([...second.completed, ...first.session.completed], [])
})

t.test('CAP-14 a server that is connected to another client while a call is being decided', async t => {
  const server = await startServer(t)
  const { server: mcpServer, client } = await server.openSession({ user: A })
  const { put } = server.store.state
  let second: McpSession | undefined
  t.intercept(server.store.state, 'put', {
    value: async (...args: Parameters<typeof put>) => {
      if (second === undefined) {
        await client.close()
        second = await openMcpSession(mcpServer, { user: B, clientId: 'client-2' })
      }
      return await put(...args)
    }
  })
  await client.callTool({ name: 'issues' }).catch(() => {})
  t.teardown(() => second?.close())
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  t.equal((await browser.get((await server.untilCallback(browser, url)).href)).statusCode, 303)
  await second!.client.ping()
  t.strictSame(second!.completed, [])
})

t.test('connecting on the connections page tells the sessions that wait', async t => {
  const server = await startServer(t)
  const { id, session } = await server.elicit(A)
  const browser = server.browser(A)
  const { location } = (await browser.press('/connect', '/acme/connect')).headers
  await browser.get((await server.untilCallback(browser, String(location))).href)
  await session.client.ping()
  t.strictSame(session.completed, [id])
  t.match(await session.client.callTool({ name: 'issues' }), { content: [{ text: /rabbit hole/ }] })
})
