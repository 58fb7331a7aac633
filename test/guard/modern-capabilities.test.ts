import { Server } from '@modelcontextprotocol/server'
import t from 'tap'
import { CALLS, CONNECT, isError, issuesServer, linkIn, modernCaller } from '../fixtures/modern.js'
import { A, startServer } from '../fixtures/server.js'

t.test('CAP-05 without elicitation.url in the request itself: the text, since a person can use the page', async t => {
  const server = await startServer(t)
  const { call } = modernCaller(t, A, () => issuesServer(server))
  for (const capabilities of [{}, { elicitation: {} }, { elicitation: { form: {} } }]) {
    t.match(await call('tools/call', { name: 'issues' }, { capabilities }), isError(CONNECT), JSON.stringify(capabilities))
    for (const [method, params] of CALLS.slice(1)) {
      t.match(await call(method, params, { capabilities }), { result: undefined, error: { code: -31042, message: CONNECT } }, method)
    }
  }
  t.match((await call('tools/call', { name: 'issues' })).result, { resultType: 'input_required' }, 'another request may declare it')
})

t.test('CAP-05 strictCapabilities: -32021 with what is required, as HTTP 400', async t => {
  const server = await startServer(t, { strictCapabilities: true })
  const { call, callStateless } = modernCaller(t, A, () => issuesServer(server))
  for (const [method, params] of CALLS) {
    const { status, result, error } = await call(method, params, { capabilities: { elicitation: {} } })
    t.match({ status, result, error }, { status: 400, result: undefined, error: { code: -32021, data: { requiredCapabilities: { elicitation: { url: {} } } } } }, method)
  }
  t.match((await call('tools/call', { name: 'issues' })).result, { resultType: 'input_required' })
  t.match(await callStateless('tools/call', { name: 'issues' }), isError(CONNECT), 'earlier revisions know no such error')
})

t.test('CAP-06 a request that lacks its capabilities or its revision is malformed', async t => {
  const server = await startServer(t)
  const { call } = modernCaller(t, A, () => issuesServer(server))
  for (const key of ['clientCapabilities', 'protocolVersion']) {
    t.match(await call('tools/call', { name: 'issues' }, { meta: { [`io.modelcontextprotocol/${key}`]: undefined } }), { status: 400, error: { code: -32602 } }, key)
  }
})

t.test('CAP-08 where nobody can be asked for anything, the text, whatever is configured', async t => {
  for (const options of [{}, { strictCapabilities: true }, { clientSupportsUrl: () => true }]) {
    const server = await startServer(t, options)
    const { call } = modernCaller(t, A, () => {
      const low = new Server({ name: 'test', version: '1.0.0' }, { capabilities: { tools: {} } })
      const { requireConnection } = server.app.mcpConnect.for(low)
      low.setRequestHandler('tools/list', requireConnection('acme', () => ({ tools: [] })))
      return low
    })
    t.match(await call('tools/list'), { result: undefined, error: { code: -31042, message: /^Connect Acme\. / } })
  }
})

t.test('CAP-09 CAP-11 a peer of 2025 never gets a resultType, and without an MCP session no -32042 either', async t => {
  const server = await startServer(t)
  const { callStateless } = modernCaller(t, A, () => issuesServer(server))
  for (const [method, params] of CALLS) {
    const { messages, result, error } = await callStateless(method, params)
    t.equal(result?.['content']?.[0].text ?? error?.message, CONNECT)
    t.notMatch(JSON.stringify(messages), /resultType|-32042/)
  }
})

t.test('CAP-11 whenCapabilityUnknown, where there are no MCP sessions', async t => {
  const server = await startServer(t, { whenCapabilityUnknown: 'elicit' })
  const { callStateless } = modernCaller(t, A, () => issuesServer(server))
  for (const [method, params] of CALLS) {
    const { result, error } = await callStateless(method, params)
    t.equal(result, undefined)
    t.match(error, { code: -32042, message: CONNECT, data: { elicitations: [{ mode: 'url', url: /^https:/, elicitationId: /^[\w-]{43}$/ }] } }, method)
  }
})

t.test('clientSupportsUrl decides for the operator, as far as the protocol lets it', async t => {
  const seen: unknown[] = []
  for (const verdict of [true, false, undefined]) {
    const server = await startServer(t, { clientSupportsUrl: manifest => { seen.push(manifest); return verdict } })
    const { call, callStateless } = modernCaller(t, A, () => issuesServer(server))
    const declared = await call('tools/call', { name: 'issues' })
    t.equal(declared.result!['resultType'], verdict === false ? 'complete' : 'input_required')
    t.match(await call('tools/call', { name: 'issues' }, { capabilities: {} }), isError(CONNECT), 'a client of 2026-07-28 must have declared it')
    t.equal((await callStateless('tools/call', { name: 'issues' })).error?.code, verdict === true ? -32042 : undefined)
  }
  t.strictSame(seen[0], { protocolVersion: '2026-07-28', capabilities: { elicitation: { url: {} } }, client: { name: 'test-client', version: '1.0.0' } })
})

t.test('CAP-15 what a client calls itself has no effect', async t => {
  const server = await startServer(t)
  const { call } = modernCaller(t, A, () => issuesServer(server))
  const ask = async (name: unknown): ReturnType<typeof call> => await call('tools/call', { name: 'issues' }, { meta: { 'io.modelcontextprotocol/clientInfo': { name, version: '1' } } })
  const link = linkIn(await ask('test-client'))
  for (const name of ['Trusted Client', 'claude-code']) t.equal(linkIn(await ask(name)), link, name)
  t.match(await ask(7), { status: 400, error: { code: -32602 } }, 'what is no name is malformed')
})
