import { inspect } from 'node:util'
import t, { type Test } from 'tap'
import { allowLoopbackHttp, handleUrlElicitation, UrlElicitationError, type UrlElicitation, type UrlElicitationOptions, type UrlRequest } from '../../lib/client/index.js'
import { elicitation, startV1, type Asked, type AskingServer } from '../fixtures/asking-server.js'
import { connectClient, createClient, type SdkClient } from '../fixtures/sdk-clients.js'

t.setTimeout(400_000)
/** What does not come to an end turns red, and does not keep the others from running. tap writes into what it is given: each test has a copy. */
const LIMITED = { timeout: 30_000 }

const FAILED = { code: 'FST_MCP_CONNECT_URL_ELICITATION' }
const tick = async (): Promise<void> => { await new Promise(resolve => { setImmediate(resolve) }) }

interface Setting {
  readonly server: AskingServer
  readonly client: SdkClient
  readonly handle: UrlElicitation
  /** What happened, in order. */
  readonly story: string[]
  /** Calls the tool. @returns its text */
  call (options?: { readonly signal?: AbortSignal }): Promise<string>
}

/** A client and a server. Unless told otherwise, everything is agreed to, and what is opened is complete at once. */
async function set (t: Test, asked: readonly Asked[] | (() => Asked | Promise<Asked>), options: Partial<UrlElicitationOptions> = {}): Promise<Setting> {
  const story: string[] = []
  const rest = Array.isArray(asked) ? [...asked] : []
  const server = await startV1(t, async () => {
    story.push('call')
    return typeof asked === 'function' ? await asked() : rest.shift() ?? null
  })
  const client = createClient()
  const { consent = async () => 'open' as const, open = async (url: string) => { await server.complete(url.split('/').at(-1)!) }, ...others } = options
  const handle = handleUrlElicitation(client, {
    async consent (request, moot) { story.push(`ask ${request.url.split('/').at(-1)}`); return await consent(request, moot) },
    async open (url) { story.push(`open ${url.split('/').at(-1)}`); await open(url) },
    ...others
  })
  await connectClient(t, client, server)
  return {
    server,
    client,
    handle,
    story,
    call: async options => {
      const { content } = await handle.run(async () => await client.callTool({ name: 'list-issues' }), options)
      return (content as Array<{ text: string }>)[0]!.text
    }
  }
}

/** A request that asks for something the first time, without a server. */
function asksOnce (id: string): () => Promise<string> {
  let first = true
  return async () => {
    if (!first) return id
    first = false
    throw Object.assign(new Error('more is needed'), { code: -32042, data: { elicitations: [elicitation(id)] } })
  }
}

t.test('S1036-08 the person sees what would be opened, who asks, and why in plain text', { ...LIMITED }, async t => {
  const seen: UrlRequest[] = []
  const message = 'Pay\u202E\u0007 now\n\u200Bplease <b>&amp;</b>\u2066'.padEnd(900, '!')
  const { call } = await set(t, [[{ ...elicitation('x', 'https://b\u00FCcher.example:8443/connect/x'), message }]], { consent: async request => { seen.push(request); return 'open' } })
  t.equal(await call(), 'issues')
  t.match(seen, [{ url: 'https://xn--bcher-kva.example:8443/connect/x', host: { ascii: 'xn--bcher-kva.example', unicode: 'b\u00FCcher.example' }, warnings: ['punycode', 'unusual_port'], server: 'asking -v1' }])
  t.match(seen[0]!.message, /^Pay now please <b>&amp;<\/b> !+…$/)
  t.equal(seen[0]!.message.length, 500)
})

t.test('nothing is opened without a yes', { ...LIMITED }, async t => {
  for (const [answer, reason] of [['decline', 'declined'], ['cancel', 'cancelled']] as const) {
    const { call, story } = await set(t, [[elicitation('a')]], { consent: async () => answer })
    await t.rejects(call(), { ...FAILED, reason })
    t.strictSame(story, ['call', 'ask a'])
  }
  for (const answer of [undefined, true, 'accept', 'OPEN', { action: 'accept' }]) {
    const { call, story } = await set(t, [[elicitation('a')]], { consent: async () => answer as 'open' })
    await t.rejects(call(), { code: 'FST_MCP_CONNECT_CLIENT_OPTIONS', message: /consent must answer/ })
    t.strictSame(story, ['call', 'ask a'], inspect(answer))
  }
  const { call, story } = await set(t, [[elicitation('a')]], { consent: async () => { throw new Error('no dialog') } })
  await t.rejects(call(), { message: 'no dialog' })
  t.strictSame(story, ['call', 'ask a'])
})

t.test('several are asked for one after the other, in order, before the request is made again', { ...LIMITED }, async t => {
  const { call, story } = await set(t, [[elicitation('a'), elicitation('b'), elicitation('c')]])
  t.equal(await call(), 'issues')
  t.strictSame(story, ['call', 'ask a', 'open a', 'ask b', 'open b', 'ask c', 'open c', 'call'])
  const declined = await set(t, [[elicitation('a'), elicitation('b')]], { consent: async () => 'decline' })
  await t.rejects(declined.call(), { ...FAILED, reason: 'declined' })
  await tick()
  t.strictSame(declined.story, ['call', 'ask a'], 'the next one is not asked for any more')
})

t.test('one refused URL, and nobody is asked for any of them', { ...LIMITED }, async t => {
  for (const [url, refusal] of [['http://acme.example/', 'not_https'], ['https://10.0.0.1/', 'private_address'], ['https://a@acme.example/', 'userinfo'], ['/x', 'not_absolute'], ['javascript:1', 'not_https'], [`https://acme.example/${'x'.repeat(3000)}`, 'too_long']] as const) {
    const { call, story } = await set(t, [{ data: { elicitations: [elicitation('a'), elicitation('b', url)] } }])
    const error = await call().catch(error => error)
    t.match(error, { ...FAILED, reason: 'refused_url', refusal })
    t.ok(error instanceof UrlElicitationError)
    t.notMatch(inspect(error, { showHidden: true, depth: 9 }), /acme\.example|connect\/a/)
    t.strictSame(story, ['call'], refusal)
  }
})

t.test('loopback is let through for development alone', { ...LIMITED }, async t => {
  const asked = [elicitation('a', 'http://127.0.0.1:3000/connect/a')]
  const strict = await set(t, [asked])
  await t.rejects(strict.call(), { ...FAILED, refusal: 'not_https' })
  const loose = await set(t, [asked], { [allowLoopbackHttp]: true })
  t.equal(await loose.call(), 'issues')
})

t.test('what is wrong about -32042 asks nobody for anything', { ...LIMITED }, async t => {
  const good = elicitation('a')
  const wrong = [null, 7, 'x', [], {}, { ...good, mode: 'form' }, { ...good, mode: undefined }, { ...good, elicitationId: '' }, { ...good, elicitationId: 7 }, { ...good, elicitationId: undefined }, { ...good, url: undefined }, { ...good, url: 7 }, { mode: 'form', message: 'Your password?', requestedSchema: {} }]
  for (const elicitations of [[], wrong, 'x', { 0: good, length: 1 }, 7, true]) {
    const { call, story } = await set(t, [{ data: { elicitations } }])
    await t.rejects(call(), { ...FAILED, reason: 'malformed' }, inspect(elicitations))
    t.strictSame(story, ['call'])
  }
  for (const data of [undefined, null, 'x', 7, [], {}, { challenges: [] }]) {
    const { call, story } = await set(t, [{ data }])
    await t.rejects(call(), { code: -32042, message: /more is needed/ }, `${inspect(data)}: the error of something else is passed on`)
    t.strictSame(story, ['call'])
  }
  const { call, story } = await set(t, [{ data: { more: 1, elicitations: [...wrong, { ...good, later: { x: 1 }, message: 7 }, good, { ...good, url: 'https://other.example/b' }, { ...good, elicitationId: 'b' }, ...wrong, elicitation('c')] } }])
  t.equal(await call(), 'issues')
  t.strictSame(story, ['call', 'ask a', 'open a', 'ask c', 'open c', 'call'], 'the good ones, each once')
  const many = await set(t, [Array.from({ length: 50 }, (_, index) => elicitation(`n${index}`))])
  t.equal(await many.call(), 'issues')
  t.equal(many.story.filter(line => line.startsWith('ask')).length, 10)
})

t.test('other errors are passed on as they are', { ...LIMITED }, async t => {
  const { handle } = await set(t, [])
  const error = Object.assign(new Error('x'), { code: -32602, data: { elicitations: [elicitation('a')] } })
  t.equal(await handle.run(async () => { throw error }).catch(error => error), error)
  t.equal(await handle.run(async () => { throw null }).catch(error => error), null)  // eslint-disable-line no-throw-literal
})

t.test('S1036-16 it waits so long and no longer', { ...LIMITED }, async t => {
  const { call, story } = await set(t, [[elicitation('a')]], { open: () => {}, timeoutMs: 30 })
  await t.rejects(call(), { ...FAILED, reason: 'timed_out' })
  t.strictSame(story, ['call', 'ask a', 'open a'])
})

t.test('notifications of unknown ids are ignored, and so are repeated ones', { ...LIMITED }, async t => {
  const { call, story, server } = await set(t, [[elicitation('a')], [elicitation('b')]], {
    async open (url) {
      await server.complete('unknown')
      await server.complete('__proto__')
      if (!url.endsWith('a')) return
      await server.complete('b')                  // not asked for yet
      await server.complete('a')
      await server.complete('a')
    },
    timeoutMs: 300
  })
  await t.rejects(call(), { ...FAILED, reason: 'timed_out' })
  t.strictSame(story, ['call', 'ask a', 'open a', 'call', 'ask b', 'open b'])
})

t.test('nor does one count whose id was not known when it came', { ...LIMITED }, async t => {
  const { handle, server, story } = await set(t, [], { consent: async ({ url }) => url.endsWith('probe') ? 'decline' : 'open' })
  const ask = asksOnce('a')
  await handle.run(async () => {
    if (story.length > 0) return await ask()
    await server.complete('a')
    await server.elicit(elicitation('probe'))     // on the same stream, so that the notification is there by now
    return await ask()
  })
  t.strictSame(story, ['ask probe', 'ask a', 'open a'])
})

t.test('a notification counts that comes before anybody waits for it', { ...LIMITED }, async t => {
  let moot: AbortSignal | undefined
  const { call, story, server } = await set(t, [[elicitation('a'), elicitation('b')]], {
    async consent (_request, { signal }) {
      moot = signal
      await server.complete('b')
      await server.complete('a')
      await new Promise(resolve => { signal.addEventListener('abort', resolve) })
      return 'open'
    },
    timeoutMs: 300
  })
  t.equal(await call(), 'issues')
  await tick()
  t.strictSame(story, ['call', 'ask a', 'call'], 'a dialog that is moot goes away, and opens nothing; b needs none')
  t.ok(moot!.aborted)
})

t.test('the person can say that they are done, or give up', { ...LIMITED }, async t => {
  const done = await set(t, [[elicitation('a')]], { open: () => {}, done: async () => {} })
  t.equal(await done.call(), 'issues')
  const gaveUp = await set(t, [[elicitation('a')]], { open: () => {}, done: async () => { throw new Error('gave up') } })
  await t.rejects(gaveUp.call(), { ...FAILED, reason: 'cancelled' })
  let moot: AbortSignal | undefined
  const complete = await set(t, [[elicitation('a')]], { done: async ({ url }, { signal }) => { t.match(url, /\/a$/); moot = signal; await new Promise(() => {}) } })
  t.equal(await complete.call(), 'issues', 'the server says so first')
  t.ok(moot!.aborted)
})

t.test('the same URL once more ends it', { ...LIMITED }, async t => {
  const { call, story } = await set(t, () => [elicitation('a')])
  await t.rejects(call(), { ...FAILED, reason: 'repeated' })
  t.strictSame(story, ['call', 'ask a', 'open a', 'call'])
  await t.rejects(call(), { ...FAILED, reason: 'repeated' })
  t.strictSame(story.slice(4), ['call', 'ask a', 'open a', 'call'], 'another call may ask for it')
  const relabelled = await set(t, [[elicitation('a')], [elicitation('b', 'https://mcp.example.com/connect/a')]])
  await t.rejects(relabelled.call(), { ...FAILED, reason: 'repeated' }, 'under another id, too')
})

t.test('so does the end of the budget', { ...LIMITED }, async t => {
  for (const rounds of [undefined, 1, 5]) {
    let count = 0
    const { call, story } = await set(t, () => [elicitation(String(count += 1))], rounds === undefined ? {} : { rounds })
    await t.rejects(call(), { ...FAILED, reason: 'budget_spent' })
    t.equal(story.filter(line => line.startsWith('ask')).length, rounds ?? 3)
    t.equal(count, (rounds ?? 3) + 1)
  }
})

t.test('a browser that cannot be opened ends it, without the URL', { ...LIMITED }, async t => {
  const { call } = await set(t, [[elicitation('a')]], { open: url => { throw new Error(url) } })
  const error = await call().catch(error => error)
  t.match(error, { ...FAILED, reason: 'not_opened' })
  t.notMatch(inspect(error, { showHidden: true, depth: 9 }), /connect\/a/)
})

t.test('requests at once share one dialog where they need the same, and wait their turn where not', { ...LIMITED }, async t => {
  let missing = true
  let dialogs = 0
  const { call, story, server } = await set(t, () => missing ? [elicitation('a')] : null, {
    async consent () {
      t.equal(dialogs += 1, 1)
      await tick()
      dialogs -= 1
      return 'open'
    },
    async open () { missing = false; await server.complete('a') }
  })
  t.strictSame(await Promise.all([call(), call(), call()]), ['issues', 'issues', 'issues'])
  t.equal(story.filter(line => line === 'open a').length, 1)

  const others = await set(t, [], {
    async consent () {
      t.equal(dialogs += 1, 1)
      await tick()
      dialogs -= 1
      return 'open'
    }
  })
  await Promise.all(['x', 'y', 'z'].map(async id => await others.handle.run(asksOnce(id))))
  t.strictSame(others.story, ['ask x', 'open x', 'ask y', 'open y', 'ask z', 'open z'])
})

t.test('a request under way whose elicitation another one has completed needs no dialog', { ...LIMITED }, async t => {
  let late = (): void => {}
  const held = new Promise<void>(resolve => { late = resolve })
  let came = (): void => {}
  const secondCame = new Promise<void>(resolve => { came = resolve })
  let calls = 0
  const { call, story, server } = await set(t, async () => {
    calls += 1
    if (calls > 2) return null
    if (calls === 2) {
      came()
      await held
    }
    return [elicitation('a')]
  }, {
    async open () {
      await secondCame
      await server.complete('a')
    }
  })
  const first = call()
  while (!story.includes('ask a')) await tick()
  const second = call()
  t.equal(await first, 'issues')
  late()
  t.equal(await second, 'issues')
  t.equal(story.filter(line => line === 'ask a').length, 1)
})

t.test('who aborts a request waits no longer; who joined in goes on', { ...LIMITED }, async t => {
  const controller = new AbortController()
  let moot: AbortSignal | undefined
  const { call, handle, story, server } = await set(t, [[elicitation('a')]], { consent: async (_request, { signal }) => { moot = signal; return 'open' }, open: () => {} })
  const first = call({ signal: controller.signal })
  while (!story.includes('open a')) await tick()
  const second = handle.run(asksOnce('a'))
  await tick()
  controller.abort(new Error('enough'))
  await t.rejects(first, { message: 'enough' })
  t.notOk(moot!.aborted)
  await server.complete('a')
  t.equal(await second, 'a')
  t.strictSame(story, ['call', 'ask a', 'open a'])

  const alone = await set(t, [[elicitation('a')]], {
    async consent (_request, { signal }) {
      setImmediate(() => { again.abort(new Error('enough')) })
      await new Promise(resolve => { signal.addEventListener('abort', resolve) })
      return 'open'
    }
  })
  const again = new AbortController()
  await t.rejects(alone.call({ signal: again.signal }), { message: 'enough' })
  await tick()
  t.strictSame(alone.story, ['call', 'ask a'], 'a yes that comes too late opens nothing')
  const before = await set(t, [[elicitation('a')]])
  await t.rejects(before.call({ signal: AbortSignal.abort(new Error('enough')) }), { message: 'enough' })
  t.strictSame(before.story, [], 'what was aborted before is not even begun')
})

t.test('closing ends what is under way, and takes everything off the client', { ...LIMITED }, async t => {
  const waiting = await set(t, () => [elicitation('a')], { open: () => {} })
  const { handle, client, story } = waiting
  const call = waiting.call()
  while (!story.includes('open a')) await tick()
  const told: string[] = []
  client.onclose = (onclose => () => { told.push('closed'); onclose?.() })(client.onclose)
  await client.close()
  await t.rejects(call, { ...FAILED, reason: 'closed' }, 'with the client')
  t.strictSame(told, ['closed'])

  const other = await set(t, () => [elicitation('a')], { open: () => {} })
  const pending = other.call()
  while (!other.story.includes('open a')) await tick()
  other.handle.close()
  await t.rejects(pending, { ...FAILED, reason: 'closed' })
  await t.rejects(other.call(), { ...FAILED, reason: 'closed' })
  t.equal(other.story.filter(line => line === 'ask a').length, 1)
  t.equal(other.client.onclose, undefined)
  await t.rejects(other.server.elicit(elicitation('b')), { code: -32601 })
  handleUrlElicitation(other.client, { consent: async () => 'open' })
  handle.close()
})

t.test('a request that is under way already is no request that can be made again', async t => {
  const { handle } = await set(t, [])
  for (const call of [Promise.resolve(), undefined]) await t.rejects(handle.run(call as never), { code: 'FST_MCP_CONNECT_CLIENT_OPTIONS', message: /run takes a function/ })
})

t.test('nothing is left behind after 1000 runs', { ...LIMITED }, async t => {
  const { handle, server } = await set(t, [])
  const controller = new AbortController()
  const { signal } = controller
  let listeners = 0
  const { addEventListener, removeEventListener } = signal
  signal.addEventListener = (...args: Parameters<AbortSignal['addEventListener']>) => { listeners += 1; addEventListener.apply(signal, args) }
  signal.removeEventListener = (...args: Parameters<AbortSignal['removeEventListener']>) => { listeners -= 1; removeEventListener.apply(signal, args) }
  const timers = (): number => process.getActiveResourcesInfo().filter(name => name === 'Timeout').length
  const before = timers()
  for (let index = 0; index < 1000; index += 1) {
    const run = handle.run(asksOnce(`n${index}`), { signal })
    if (index % 100 === 0) await server.complete('nobody')
    t.equal(await run, `n${index}`)
  }
  t.equal(listeners, 0)
  t.ok(timers() <= before + 1, `${timers()} timers, ${before} before`)
})

t.test('a request that is aborted once everything is done is not made again', async t => {
  const { handle, story } = await set(t, [])
  const controller = new AbortController()
  let calls = 0
  await t.rejects(handle.run(async () => {
    calls += 1
    // Completes what is asked for below, which then needs no dialog.
    await handle.run(asksOnce('a'))
    controller.abort(new Error('enough'))
    if (calls > 1) return
    throw Object.assign(new Error('more is needed'), { code: -32042, data: { elicitations: [elicitation('a')] } })
  }, controller), { message: 'enough' })
  t.equal(calls, 1)
  t.strictSame(story, ['ask a', 'open a'])
})
