import { McpServer, Server } from '@modelcontextprotocol/server'
import { randomBytes } from 'node:crypto'
import { getEventListeners, setMaxListeners } from 'node:events'
import t, { type Test } from 'tap'
import { advance, stopClock } from '../fixtures/clock.js'
import { issuesServer, MODERN, modernCaller, type Answered } from '../fixtures/modern.js'
import { A, A2, B, startServer, type TestServer } from '../fixtures/server.js'

const CONNECT = 'Connect Acme to list your issues. The user can do so in a browser at https://mcp.example.com/connect and should then call this again.'
const NOT_FINISHED = 'Connecting Acme is not finished yet. The user can go on in the browser, or begin again at https://mcp.example.com/connect, and should then call this again.'
const CALLS = [['tools/call', { name: 'issues' }], ['prompts/get', { name: 'issues' }], ['resources/read', { uri: 'acme://issues' }]] as const
const answer = (action: unknown): object => ({ inputResponses: { 'connect:acme': { action } } })
const isError = (text: unknown): object => ({ error: undefined, result: { isError: true, content: [{ type: 'text', text }] } })

/** Fulfilled once a call that comes next has looked at the vault a second time: from then on it waits. */
async function untilWaiting (t: Test, { store }: TestServer): Promise<void> {
  const { get } = store.vault
  let looks = 0
  await new Promise<void>(resolve => {
    t.intercept(store.vault, 'get', {
      value: async (...args: Parameters<typeof get>) => {
        const stored = await get(...args)
        if (++looks === 2) setImmediate(resolve)
        return stored
      }
    })
  })
}

/** Lets what is going on go on until something is so. */
async function until (isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise(resolve => setImmediate(resolve))
}

/** Timers that go off when they are told to. */
function mockTimers (t: Test): { tick: (ms: number) => void, count: () => number } {
  const timers = new Map<object, { at: number, every?: number, run: () => void }>()
  let now = 0
  const add = (run: () => void, ms: number, every?: number): object => {
    const timer = { unref: () => timer }
    timers.set(timer, { at: now + ms, run, ...every !== undefined && { every } })
    return timer
  }
  const remove = (timer: object): void => { timers.delete(timer) }
  t.intercept(globalThis, 'setTimeout', { value: (run: () => void, ms: number) => add(run, ms) })
  t.intercept(globalThis, 'setInterval', { value: (run: () => void, ms: number) => add(run, ms, ms) })
  t.intercept(globalThis, 'clearTimeout', { value: remove })
  t.intercept(globalThis, 'clearInterval', { value: remove })
  return {
    count: () => timers.size,
    tick (ms) {
      const end = now + ms
      for (;;) {
        const due = [...timers].filter(([, { at }]) => at <= end).sort(([, a], [, b]) => a.at - b.at)[0]
        if (due === undefined) break
        const [timer, entry] = due
        now = entry.at
        if (entry.every === undefined) timers.delete(timer)
        else entry.at += entry.every
        entry.run()
      }
      now = end
    }
  }
}

/** The link that a call was answered with. */
function linkIn ({ result }: Answered): string {
  return result!['inputRequests']['connect:acme'].params.url as string
}

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
  const links = await Promise.all(['test-client', 'Trusted Client', 'claude-code', 7].map(async name =>
    (await call('tools/call', { name: 'issues' }, { meta: { 'io.modelcontextprotocol/clientInfo': { name, version: '1' } } })).result?.['inputRequests']?.['connect:acme'].params.url))
  t.equal(new Set(links.slice(0, 3)).size, 1)
})

t.test('nobody who is not authenticated gets a link', async t => {
  const server = await startServer(t)
  for (const extra of [undefined, null, 'a', ['a']]) await t.rejects(direct(server)({}, { clientId: 'client-1', extra }), { code: -31042, message: /no authenticated user/ })
  t.match(await modernCaller(t, null, () => issuesServer(server)).call('tools/call', { name: 'issues' }), isError(/no authenticated user/))
})

t.test('RQS-11 accept, before the user has finished: a bounded wait, and no further row', async t => {
  const server = await startServer(t, { waitMs: 50 })
  const keys = new Set<string>()
  const { call } = modernCaller(t, A, () => issuesServer(server))
  const link = linkIn(await call('tools/call', { name: 'issues' }))
  const { put } = server.store.state
  t.intercept(server.store.state, 'put', { value: async (...args: Parameters<typeof put>) => { keys.add(args[0]); return await put(...args) } })
  t.match(await call('tools/call', { name: 'issues', ...answer('accept') }), isError(NOT_FINISHED))
  for (const [method, params] of CALLS.slice(1)) t.match(await call(method, { ...params, ...answer('accept') }), { error: { code: -31042, message: NOT_FINISHED } })
  t.strictSame([...keys], [])
  t.equal(linkIn(await call('tools/call', { name: 'issues' })), link, 'a later call gets the same')
})

t.test('accept is consent, and says nothing of who is connected', async t => {
  const server = await startServer(t, { waitMs: 0 })
  const { call } = modernCaller(t, A, () => issuesServer(server))
  t.match(await call('tools/call', { name: 'issues', ...answer('accept') }), isError(NOT_FINISHED), 'even of a link that nobody was handed')
  t.match(await call('tools/call', { name: 'both', inputResponses: { 'connect:acme': { action: 'accept' } } }), isError(/^Connecting Acme and Acme is not finished/), 'and of another provider')
})

t.test('the call goes on as soon as the user has finished, at whichever instance', async t => {
  const keys = [randomBytes(32).toString('base64')]
  const server = await startServer(t, { keys, waitMs: 45_000 })
  const other = await startServer(t, { keys, at: server.acme, store: server.store })
  const { call } = modernCaller(t, A, () => issuesServer(server))
  const browser = other.browser(A)
  const callback = await other.untilCallback(browser, linkIn(await call('tools/call', { name: 'issues' })))
  const waits = untilWaiting(t, server)
  const waiting = call('tools/call', { name: 'issues', ...answer('accept') })
  await waits
  const startedAt = Date.now()
  await browser.get(callback.href)
  t.match(await waiting, { result: { content: [{ text: /rabbit hole/ }], resultType: 'complete' } })
  t.ok(Date.now() - startedAt < 30_000, 'it was told')
})

t.test('one of two providers is not enough, and the second is waited for', async t => {
  const server = await startServer(t)
  const { call } = modernCaller(t, A, () => issuesServer(server))
  const { result } = await call('tools/call', { name: 'both' })
  const links = Object.values<any>(result!['inputRequests']).map(({ params }) => params.url as string)
  const browser = server.browser(A)
  const waiting = call('tools/call', { name: 'both', inputResponses: { 'connect:acme': { action: 'accept' }, 'connect:other': { action: 'accept' } } })
  for (const link of links) await browser.get((await server.untilCallback(browser, link)).href)
  t.match(await waiting, { result: { content: [{ text: 'both' }] } })
})

t.test('RQS-09 a link of which the client says nothing is asked for; those that it answered are not asked for again', async t => {
  const server = await startServer(t, { waitMs: 0 })
  const { call } = modernCaller(t, A, () => issuesServer(server))
  await call('tools/call', { name: 'both' })
  const { result } = await call('tools/call', { name: 'both', ...answer('accept') })
  t.match(result, { isError: true, content: [{ text: /not finished yet/ }] })
  const link = linkIn(await call('tools/call', { name: 'issues' }))
  const browser = server.browser(A)
  await browser.get((await server.untilCallback(browser, link)).href)
  const once = await call('tools/call', { name: 'both', ...answer('accept') })
  t.strictSame(Object.keys(once.result!['inputRequests']), ['connect:other'])
})

t.test('the call ends when the user declines on the page, and says so', async t => {
  const server = await startServer(t)
  const { call } = modernCaller(t, A, () => issuesServer(server))
  const link = linkIn(await call('tools/call', { name: 'issues' }))
  const waits = untilWaiting(t, server)
  const waiting = call('tools/call', { name: 'issues', ...answer('accept') })
  await waits
  await server.browser(A).press(link, '/decline')
  t.match(await waiting, isError(/^Connecting Acme was declined\. Do not ask again now\./))
  t.match(await call('tools/call', { name: 'issues' }), isError(/was declined/), 'nor is the user asked again soon')
})

t.test('shutdown ends what waits, at once and with the text', async t => {
  const server = await startServer(t, { waitMs: 45_000 })
  const { call } = modernCaller(t, A, () => issuesServer(server))
  await call('tools/call', { name: 'issues' })
  const waits = untilWaiting(t, server)
  const waiting = call('tools/call', { name: 'issues', ...answer('accept') })
  await waits
  const startedAt = Date.now()
  await Promise.all([server.app.close(), waiting])
  t.match(await waiting, isError(NOT_FINISHED))
  t.ok(Date.now() - startedAt < 30_000)
})

/** Calls a guarded handler as SDK v2 would, without the SDK. */
function direct ({ app }: TestServer): (request: object, authInfo?: object) => Promise<any> {
  const server = {
    getClientCapabilities: () => undefined,
    getClientVersion: () => undefined,
    getNegotiatedProtocolVersion: () => MODERN,
    createElicitationCompletionNotifier: () => { throw new Error('there are no notifications') }
  }
  const handler = app.mcpConnect.for({ server, registerResource () {} }).requireConnection('acme', () => 'connected') as (context: unknown) => Promise<unknown>
  return async (request, authInfo = { clientId: 'client-1', extra: { iss: A.issuer, sub: A.subject, tid: A.tenant } }) => await handler({
    mcpReq: { method: 'tools/call', envelope: { 'io.modelcontextprotocol/clientCapabilities': { elicitation: { url: {} } } }, signal: new AbortController().signal, ...request },
    http: { authInfo }
  })
}

t.test('calls that are cancelled wait no longer, and leave no timer and no listener', async t => {
  const server = await startServer(t)
  const call = direct(server)
  await call({})
  const timers = (): number => process.getActiveResourcesInfo().filter(kind => kind === 'Timeout').length
  const before = timers()
  const warnings: Error[] = []
  const warned = (warning: Error): void => { warnings.push(warning) }
  process.on('warning', warned)
  t.teardown(() => process.off('warning', warned))
  const cancelled = new AbortController()
  setMaxListeners(0, cancelled.signal)
  const waits = Array.from({ length: 20 }, () => call({ ...answer('accept'), signal: cancelled.signal }))
  await until(() => getEventListeners(cancelled.signal, 'abort').length === 20)
  t.equal(timers(), before + 20, 'each has its time')
  cancelled.abort()
  t.ok((await Promise.allSettled(waits)).every(({ status }) => status === 'rejected'))
  t.equal(getEventListeners(cancelled.signal, 'abort').length, 0)
  t.equal(timers(), before)
  t.strictSame(warnings, [], 'nor does the signal that they share complain')
})

t.test('a client that asks for progress hears every ten seconds that its call is alive', async t => {
  const server = await startServer(t, { waitMs: 35_000 })
  const call = direct(server)
  await call({})
  const clock = mockTimers(t)
  const told: unknown[] = []
  const waiting = call({ ...answer('accept'), _meta: { progressToken: 'p' }, notify: async (notification: unknown) => { told.push(notification) } }).catch(error => error)
  const silent = call({ ...answer('accept'), notify: async () => { told.push('without having been asked') } }).catch(error => error)
  const deaf = call({ ...answer('accept'), _meta: { progressToken: 1 }, notify: async () => { throw new Error('the stream is gone') } }).catch(error => error)
  await until(() => clock.count() === 5)
  clock.tick(34_999)
  t.strictSame(told, [10, 20, 30].map(progress => ({
    method: 'notifications/progress', params: { progressToken: 'p', progress, message: 'Waiting for the user, in the browser' }
  })))
  clock.tick(1)
  t.match(await waiting, { code: -31042, message: /not finished/ })
  t.match(await Promise.all([silent, deaf]), [{ code: -31042 }, { code: -31042 }], 'one that cannot be told goes on, too')
  t.equal(told.length, 3)
})

t.test('REC-19 a client that declines: the text, no new link for a while, and cancel is no decline', async t => {
  const server = await startServer(t)
  const { call } = modernCaller(t, A, () => issuesServer(server))
  stopClock(t)
  const link = linkIn(await call('tools/call', { name: 'issues' }))
  t.match(await call('tools/call', { name: 'issues', ...answer('cancel') }), isError(CONNECT))
  t.equal(linkIn(await call('tools/call', { name: 'issues' })), link, 'the link is as it was')
  t.match(await call('tools/call', { name: 'issues', ...answer('decline') }), isError(CONNECT), 'nobody reads so fast: the client could not show it')
  t.equal(linkIn(await call('tools/call', { name: 'issues' })), link)

  advance(t, 1001)
  t.match(await call('tools/call', { name: 'issues', ...answer('decline') }), isError(/^Connecting Acme was declined\. Do not ask again now\./))
  for (const [method, params] of CALLS) t.match(JSON.stringify(await call(method, params)), /was declined/)
  t.equal(server.audit.filter(({ event }) => event === 'elicitation.declined').length, 1)
  t.match(linkIn(await modernCaller(t, A, () => issuesServer(server), { clientId: 'client-2' }).call('tools/call', { name: 'issues' })), /^https:/, 'another client may ask')
  advance(t, 5 * 60_000)
  t.not(linkIn(await call('tools/call', { name: 'issues' })), link)
})

t.test('REC-19 a client that has answered for one provider has not declined another', async t => {
  const server = await startServer(t)
  const { call } = modernCaller(t, A, () => issuesServer(server))
  await call('tools/call', { name: 'both' })
  advance(t, 1001)
  const { result } = await call('tools/call', { name: 'both', inputResponses: { 'connect:acme': { action: 'accept' }, 'connect:other': { action: 'decline' } } })
  t.match(result, { isError: true, content: [{ text: /^Connecting Acme was declined/ }] })
  t.match((await call('tools/call', { name: 'issues' })).result, { resultType: 'input_required' })
})

t.test('nobody else can answer: neither another user, nor one of another tenant', async t => {
  const server = await startServer(t)
  const { call } = modernCaller(t, A, () => issuesServer(server))
  const link = linkIn(await call('tools/call', { name: 'issues' }))
  advance(t, 1001)
  for (const user of [B, A2]) await modernCaller(t, user, () => issuesServer(server)).call('tools/call', { name: 'issues', ...answer('decline') })
  await modernCaller(t, A, () => issuesServer(server), { clientId: 'client-2' }).call('tools/call', { name: 'issues', ...answer('decline') })
  t.equal(linkIn(await call('tools/call', { name: 'issues' })), link)
})

t.test('INP-13 answers that are none never count as connected, and what stands beside them is ignored', async t => {
  const server = await startServer(t, { waitMs: 0 })
  const { call } = modernCaller(t, A, () => issuesServer(server))
  const link = linkIn(await call('tools/call', { name: 'issues' }))
  for (const inputResponses of [null, [], 7, 'connect:acme', {}, { acme: { action: 'accept' } }, { other: { action: 'accept', content: { token: 'x' } } }, { 'connect:': { action: 'accept' } }]) {
    t.equal(linkIn(await call('tools/call', { name: 'issues', inputResponses })), link, JSON.stringify(inputResponses))
  }
  for (const response of [null, [], 7, 'accept', {}, { action: null }, { action: ['accept'] }, { action: 'ACCEPT' }, { action: 'connected' }, { method: 'elicitation/create', result: { action: 'accept' } }]) {
    t.match(await call('tools/call', { name: 'issues', inputResponses: { 'connect:acme': response } }), isError(CONNECT), JSON.stringify(response))
  }
  for (const beside of [{ content: {} }, { content: { access_token: 'x' } }, { connected: true }]) {
    t.match(await call('tools/call', { name: 'issues', inputResponses: { 'connect:acme': { action: 'accept', ...beside }, more: { action: 'accept' } } }), isError(NOT_FINISHED), JSON.stringify(beside))
  }
  t.strictSame(server.audit.filter(({ event }) => event === 'vault.read'), [])
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

t.test('RQS-06 the same answers again, once connected: the result, and one token request', async t => {
  const server = await startServer(t)
  const { call } = modernCaller(t, A, () => issuesServer(server))
  const browser = server.browser(A)
  await browser.get((await server.untilCallback(browser, linkIn(await call('tools/call', { name: 'issues' })))).href)
  for (let i = 0; i < 3; i++) t.match(await call('tools/call', { name: 'issues', ...answer('accept') }), { result: { content: [{ text: /rabbit hole/ }] } })
  t.match(await call('tools/call', { name: 'issues', ...answer('decline') }), { result: { content: [{ text: /rabbit hole/ }] } }, 'nor does a late decline undo it')
  t.equal(server.acme.tokenRequests, 1)
})

t.test('REC-01 an answer that never comes costs nothing: the link expires, and the next call gets another', async t => {
  const server = await startServer(t)
  const { call } = modernCaller(t, A, () => issuesServer(server))
  const link = linkIn(await call('tools/call', { name: 'issues' }))
  advance(t, 15 * 60_000)
  t.match(await call('tools/call', { name: 'issues', ...answer('decline') }), isError(CONNECT), 'nor does it count when it comes then')
  t.not(linkIn(await call('tools/call', { name: 'issues' })), link)
})

t.test('a store that fails while a call waits: the text says to try again', async t => {
  const server = await startServer(t, { waitMs: 0 })
  const { call } = modernCaller(t, A, () => issuesServer(server))
  await call('tools/call', { name: 'issues' })
  t.intercept(server.store.state, 'get', { value: async () => { throw new Error('down') } })
  t.match(await call('tools/call', { name: 'issues', ...answer('accept') }), isError(/could not be looked up/))
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
