import { McpServer } from '@modelcontextprotocol/server'
import t from 'tap'
import { answer, CALLS, directCaller, isError, issuesServer, linkIn, modernCaller, NOT_FINISHED } from '../fixtures/modern.js'
import { A, startServer } from '../fixtures/server.js'

t.test('CAP-07 on 2026-07-28 tools, prompts and resources answer what they need: no -32042, and no elicitationId', async t => {
  const server = await startServer(t)
  const { call } = modernCaller(t, A, () => issuesServer(server))
  for (const [method, params] of CALLS) {
    const { status, messages, result, error } = await call(method, params)
    t.equal(status, 200)
    t.equal(messages.length, 1)
    t.equal(error, undefined)
    const { _meta, ...rest } = result!
    const url = linkIn({ status, messages, result: rest })
    t.match(url, /^https:\/\/mcp\.example\.com\/connect\/[\w-]{43}$/)
    t.strictSame(rest, {
      resultType: 'input_required',
      inputRequests: { 'connect:acme': { method: 'elicitation/create', params: { mode: 'url', url, message: 'Connect Acme to list your issues.' } } }
    }, method)
  }
})

t.test('CAP-07 all missing providers of one handler are asked for at once', async t => {
  const server = await startServer(t)
  const { result } = await modernCaller(t, A, () => issuesServer(server)).call('tools/call', { name: 'both' })
  t.strictSame(Object.keys(result!['inputRequests']), ['connect:acme', 'connect:other'])
})

t.test('a call that is answered as one JSON body, and one as a stream', async t => {
  const server = await startServer(t)
  for (const responseMode of ['json', 'sse', 'auto'] as const) {
    const { call } = modernCaller(t, A, () => issuesServer(server), { responseMode })
    const { result, messages } = await call('tools/call', { name: 'issues' })
    t.match(result, { resultType: 'input_required' }, responseMode)
    t.equal(messages.length, 1)
  }
})

t.test('CAP-10 a connected user is not asked', async t => {
  const server = await startServer(t)
  const { call } = modernCaller(t, A, () => issuesServer(server))
  const browser = server.browser(A)
  await browser.get((await server.untilCallback(browser, linkIn(await call('tools/call', { name: 'issues' })))).href)
  for (const [method, params] of CALLS) {
    const { result } = await call(method, params)
    t.match(JSON.stringify(result), /rabbit hole/, method)
    t.equal(result!['resultType'], 'complete')
  }
})

t.test('nobody who is not authenticated gets a link', async t => {
  const server = await startServer(t)
  for (const extra of [undefined, null, 'a', ['a']]) await t.rejects(directCaller(server)({}, { clientId: 'client-1', extra }), { code: -31042, message: /no authenticated user/ })
  t.match(await modernCaller(t, null, () => issuesServer(server)).call('tools/call', { name: 'issues' }), isError(/no authenticated user/))
})

t.test('RQS-01 RQS-02 RQS-04 RQS-05 RQS-07 RQS-10 RQS-12 a requestState, whosever it is, changes nothing and is not echoed', async t => {
  const server = await startServer(t, { waitMs: 0 })
  const { call } = modernCaller(t, A, () => issuesServer(server))
  const link = linkIn(await call('tools/call', { name: 'issues' }))
  for (const requestState of ['x', '', 'v1.eyJjb25uZWN0ZWQiOnRydWV9.AAAA', JSON.stringify({ connected: true, elicitationId: 'other' }), 's'.repeat(100_000)]) {
    const asked = await call('tools/call', { name: 'issues', requestState })
    t.equal(linkIn(asked), link)
    t.notOk('requestState' in asked.result!)
    const answered = await call('tools/call', { name: 'issues', requestState, ...answer('accept') })
    t.match(answered, isError(NOT_FINISHED))
    t.notMatch(JSON.stringify(answered), /requestState|sssss/)
  }
})

t.test('RQS-01 a codec of the host\'s own comes first, and is left alone', async t => {
  const server = await startServer(t)
  const { call } = modernCaller(t, A, () => {
    const mcpServer = new McpServer({ name: 'test', version: '1.0.0' }, { requestState: { verify: async () => { throw new Error('forged') } } })
    mcpServer.registerTool('issues', {}, server.app.mcpConnect.for(mcpServer).requireConnection('acme', () => ({ content: [] })))
    return mcpServer
  })
  t.match(await call('tools/call', { name: 'issues', requestState: 'forged' }), { error: { code: -32602 } })
})
