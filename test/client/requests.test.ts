import { inspect } from 'node:util'
import t, { type Test } from 'tap'
import { handleUrlElicitation, type McpClientLike, type UrlElicitation, type UrlElicitationOptions } from '../../lib/client/index.js'
import { elicitation, startModern, startV1, type Answers, type AskingServer } from '../fixtures/asking-server.js'
import { connectClient, createClient, type SdkClient } from '../fixtures/sdk-clients.js'

t.setTimeout(400_000)
/** What does not come to an end turns red, and does not keep the others from running. tap writes into what it is given: each test has a copy. */
const LIMITED = { timeout: 30_000 }

const tick = async (): Promise<void> => { await new Promise(resolve => { setImmediate(resolve) }) }

async function set (t: Test, options: Partial<UrlElicitationOptions> = {}): Promise<{ readonly server: AskingServer, readonly client: SdkClient, readonly handle: UrlElicitation }> {
  const server = await startV1(t)
  const client = createClient()
  const handle = handleUrlElicitation(client, { consent: async () => 'open', open: () => {}, ...options })
  await connectClient(t, client, server)
  return { server, client, handle }
}

/** What the server of a call that requires an input without an id is answered. */
async function answeredModern (t: Test, options: Partial<UrlElicitationOptions>): Promise<Answers> {
  let given: Answers
  const url = await startModern(t, answers => { given = answers; return answers === undefined ? { acme: 'https://mcp.example.com/connect/a' } : null })
  const client = createClient('v2 imported', undefined, { versionNegotiation: { mode: 'auto' } })
  handleUrlElicitation(client, { consent: async () => 'open', open: () => {}, ...options })
  await connectClient(t, client, { url }, 'v2 imported')
  await client.callTool({ name: 'list-issues' })
  return given
}

t.test('accept waits for the server, or for the person, whoever says so first', { ...LIMITED }, async t => {
  let opened = (): void => {}
  const open = new Promise<void>(resolve => { opened = resolve })
  const { server } = await set(t, { open: () => { opened() } })
  let answer: object | undefined
  const answered = server.elicit(elicitation('a')).then(action => { answer = action })
  await open
  await server.complete('b')
  for (let rest = 0; rest < 20; rest += 1) await tick()
  t.equal(answer, undefined, 'not of another one')
  await server.complete('a')
  await answered
  t.strictSame(answer, { action: 'accept' })
  const manual = await set(t, { done: async () => {} })
  t.strictSame(await manual.server.elicit(elicitation('a')), { action: 'accept' })
})

t.test('without an id nobody can say that it is complete: accept, at once or when the person is done', { ...LIMITED }, async t => {
  t.strictSame(await answeredModern(t, {}), { acme: { action: 'accept' } })
  let asked = 0
  t.strictSame(await answeredModern(t, { done: async () => { asked += 1 } }), { acme: { action: 'accept' } })
  t.equal(asked, 1)
  t.strictSame(await answeredModern(t, { done: async () => { throw new Error('gave up') } }), { acme: { action: 'cancel' } })
  t.strictSame(await answeredModern(t, { done: async () => { await new Promise(() => {}) }, timeoutMs: 20 }), { acme: { action: 'cancel' } })
})

t.test('S1036-16 what did not come to an end is as if the person had gone away', { ...LIMITED }, async t => {
  const late = await set(t, { timeoutMs: 20 })
  t.strictSame(await late.server.elicit(elicitation('a')), { action: 'cancel' })
  const without = await set(t, { open: () => { throw new Error('no browser') } })
  t.strictSame(await without.server.elicit(elicitation('a')), { action: 'cancel' })
  const gaveUp = await set(t, { done: async () => { throw new Error('gave up') } })
  t.strictSame(await gaveUp.server.elicit(elicitation('a')), { action: 'cancel' })
})

t.test('a dialog that fails is no matter of the server', { ...LIMITED }, async t => {
  const { server } = await set(t, { consent: async () => { throw new Error('/home/alice/.config is broken') } })
  const error = await server.elicit(elicitation('a')).catch(error => error)
  t.match(error, { code: -32603, message: /The client could not ask/ })
  t.notMatch(inspect(error), /alice/)
  const url = await startModern(t, () => ({ acme: 'https://mcp.example.com/connect/a' }))
  const client = createClient('v2 imported', undefined, { versionNegotiation: { mode: 'auto' } })
  const { run } = handleUrlElicitation(client, { consent: async () => { throw new Error('no dialog') } })
  await connectClient(t, client, { url }, 'v2 imported')
  await t.rejects(run(async () => await client.callTool({ name: 'list-issues' })), { message: 'no dialog' }, 'who called is told')
})

t.test('a request that the server takes back takes its dialog down, and opens nothing', { ...LIMITED }, async t => {
  const controller = new AbortController()
  let opened = 0
  let down = (): void => {}
  const moot = new Promise<void>(resolve => { down = resolve })
  const { server } = await set(t, {
    async consent ({ url }, { signal }) {
      if (url.endsWith('before')) return 'decline'
      controller.abort(new Error('never mind'))
      await new Promise(resolve => { signal.addEventListener('abort', resolve) })
      down()
      return 'open'
    },
    open: () => { opened += 1 }
  })
  await server.elicit(elicitation('before'))      // SDK v1 cannot cancel the request whose id is 0
  await t.rejects(server.elicit(elicitation('a'), controller), /never mind/)
  await moot
  await tick()
  t.equal(opened, 0)
})

t.test('a request and an error that ask for the same share one dialog', { ...LIMITED }, async t => {
  let asked = 0
  const { server, handle } = await set(t, { consent: async () => { asked += 1; return 'open' }, open: async () => { await pushed; await server.complete('a') } })
  let first = true
  const run = handle.run(async () => {
    if (!first) return 'done'
    first = false
    throw Object.assign(new Error('x'), { code: -32042, data: { elicitations: [elicitation('a')] } })
  })
  const answer = server.elicit(elicitation('a'))
  const pushed = server.ping()
  t.equal(await run, 'done')
  t.strictSame(await answer, { action: 'accept' })
  t.equal(asked, 1)
})

t.test('options are checked, and so is the client', { ...LIMITED }, async t => {
  const consent = async (): Promise<'open'> => 'open'
  const wrong: ReadonlyArray<readonly [unknown, RegExp]> = [
    [undefined, /consent/], [{}, /must be a function .*at consent/s], [{ consent: 'open' }, /consent/], [{ consent, open: 'xdg-open' }, /must be a function .*at open/s], [{ consent, done: true }, /must be a function .*at done/s],
    [{ consent, timeoutMs: 0 }, /milliseconds.*at timeoutMs/s], [{ consent, timeoutMs: 3_600_001 }, /an hour/], [{ consent, timeoutMs: '5' }, /milliseconds/], [{ consent, rounds: 0 }, /from 1 to 10.*at rounds/s], [{ consent, rounds: 11 }, /from 1 to 10/], [{ consent, retries: 3 }, /unknown: retries; known are: consent, open, done, timeoutMs, rounds/]
  ]
  for (const [options, message] of wrong) t.throws(() => handleUrlElicitation(createClient(), options as UrlElicitationOptions), { code: 'FST_MCP_CONNECT_CLIENT_OPTIONS', message }, inspect(options))
  for (const client of [undefined, null, {}, { setRequestHandler () {} }]) t.throws(() => handleUrlElicitation(client as unknown as McpClientLike, { consent }), { code: 'FST_MCP_CONNECT_CLIENT_OPTIONS', message: /takes a Client of/ })
  for (const sdk of ['v1 imported', 'v2 imported']) {
    for (const capabilities of [{}, { elicitation: {} }, { elicitation: { form: {} } }, { elicitation: { url: true } }, { elicitation: { url: undefined } }]) {
      t.throws(() => handleUrlElicitation(createClient(sdk, capabilities), { consent }), { code: 'FST_MCP_CONNECT_CLIENT_OPTIONS', message: /capabilities: urlMode/ }, `${sdk} ${inspect(capabilities)}`)
    }
    handleUrlElicitation(createClient(sdk, { elicitation: { form: {}, url: {} } }), { consent })
    const client = createClient(sdk)
    handleUrlElicitation(client, { consent })
    t.throws(() => handleUrlElicitation(client, { consent }), { code: 'FST_MCP_CONNECT_CLIENT_OPTIONS', message: /has a handler of elicitation\/create already/ }, sdk)
  }
})

t.test('a server that asks for ever, or for hundreds of things at once, is refused', { ...LIMITED }, async t => {
  let answer = (_answer: 'decline'): void => {}
  const answered = new Promise<'decline'>(resolve => { answer = resolve })
  let asked = 0
  const { server } = await set(t, { consent: async () => { asked += 1; return await answered } })
  const answers = Array.from({ length: 50 }, async (_, index) => await server.elicit(elicitation(`n${index}`)).then(() => 'taken', ({ code, data }) => `${code} ${data?.reason}`))
  t.strictSame(await Promise.all(answers.slice(10)), Array.from({ length: 40 }, () => '-32602 budget_spent'))
  answer('decline')
  t.strictSame(await Promise.all(answers.slice(0, 10)), Array.from({ length: 10 }, () => 'taken'))
  t.equal(asked, 10)
  t.strictSame(await server.elicit(elicitation('later')), { action: 'decline' }, 'then there is room again')

  for (const [together, rounds, expected] of [[1, undefined, 3], [4, 2, 8], [11, 3, 1]] as const) {
    let round = 0
    const url = await startModern(t, () => {
      round += 1
      return Object.fromEntries(Array.from({ length: together }, (_, index) => [`key${index}`, `https://mcp.example.com/connect/${round}-${index}`]))
    })
    const client = createClient('v2 imported', undefined, { versionNegotiation: { mode: 'auto' } })
    let dialogs = 0
    const { run } = handleUrlElicitation(client, { consent: async () => { dialogs += 1; return 'open' }, open: () => {}, ...rounds !== undefined && { rounds } })
    await connectClient(t, client, { url }, 'v2 imported')
    await t.rejects(run(async () => await client.callTool({ name: 'list-issues' })), { code: 'FST_MCP_CONNECT_URL_ELICITATION', reason: 'budget_spent' })
    t.ok(dialogs <= expected && (together > 10 || dialogs === expected), `${together} together: ${dialogs} dialogs`)
  }
})
