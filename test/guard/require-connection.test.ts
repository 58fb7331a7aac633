import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js'
import { inspect } from 'node:util'
import t, { type Test } from 'tap'
import { z } from 'zod'
import undici from 'undici'
import { advance } from '../fixtures/clock.js'
import { openMcpSession, type McpSession } from '../fixtures/mcp-session.js'
import { A, B, startServer, type TestServer } from '../fixtures/server.js'
import type { RequireOptions } from '../../lib/decorator.js'
import type { Connection } from '../../lib/types.js'

async function open (t: Test, server: TestServer, register: (mcp: McpServer) => void, options: Parameters<typeof openMcpSession>[1] = {}): Promise<McpSession> {
  const mcp = new McpServer({ name: 'test', version: '1.0.0' })
  register(mcp)
  const session = await openMcpSession(mcp, { user: A, ...options })
  t.teardown(() => session.close())
  return session
}

async function connect (server: TestServer, url: string): Promise<void> {
  const browser = server.browser(A)
  const { statusCode } = await browser.get((await server.untilCallback(browser, url)).href)
  if (statusCode !== 303) throw new Error(`connecting ended with ${statusCode}`)
}

const rejection = async (promise: Promise<unknown>): Promise<any> => await promise.then(() => { throw new Error('it resolved') }, error => error)
const content = (text: string): { content: Array<{ type: 'text', text: string }> } => ({ content: [{ type: 'text', text }] })

t.test('a guard that was made for another server than the one that is called is told to the operator, once', async t => {
  const server = await startServer(t)
  const shared = new McpServer({ name: 'shared', version: '1.0.0' })
  for (const guarded of [null, shared]) {
    for (const capabilities of [undefined, {}]) {
      const { client } = await open(t, server, mcp => {
        mcp.registerTool('issues', {}, server.app.mcpConnect.for(guarded ?? mcp).requireConnection('acme', () => content('')))
      }, capabilities === undefined ? {} : { capabilities })
      await client.callTool({ name: 'issues' }).catch(() => {})
    }
    const warnings = server.log.filter(line => line.includes('"level":40'))
    t.match(warnings, guarded === null ? [] : [/made for another server than the one that is called.*createServer/])
    t.equal(warnings.length, guarded === null ? 0 : 1)
  }
})

t.test('tools with and without arguments, prompts, resources and templates: the connection comes first', async t => {
  const server = await startServer(t)
  const kinds = (mcp: McpServer): void => {
    const { requireConnection } = server.app.mcpConnect.for(mcp)
    const text = (acme: Connection, ...rest: string[]): string => [acme.provider, acme.scopes.join(), ...rest].join(' ')
    mcp.registerTool('bare', {}, requireConnection('acme', (acme, context) => content(text(acme, String(context.authInfo?.clientId)))))
    mcp.registerTool('arguments', { inputSchema: { state: z.string() } }, requireConnection('acme', (acme, { state }, context) => content(text(acme, state, String(context.authInfo?.clientId)))))
    mcp.registerPrompt('prompt', { argsSchema: { topic: z.string() } }, requireConnection('acme', (acme, { topic }) => ({
      messages: [{ role: 'user' as const, content: { type: 'text' as const, text: text(acme, topic) } }]
    })))
    mcp.registerResource('resource', 'acme://issues', {}, requireConnection('acme', (acme, uri: URL) => ({ contents: [{ uri: uri.href, text: text(acme) }] })))
    mcp.registerResource('template', new ResourceTemplate('acme://issues/{number}', { list: undefined }), {},
      requireConnection('acme', (acme, uri: URL, { number }: Record<string, string | string[]>) => ({ contents: [{ uri: uri.href, text: text(acme, String(number)) }] })))
  }
  const calls = (client: McpSession['client']): Record<string, () => Promise<unknown>> => ({
    bare: () => client.callTool({ name: 'bare' }),
    arguments: () => client.callTool({ name: 'arguments', arguments: { state: 'open' } }),
    prompt: () => client.getPrompt({ name: 'prompt', arguments: { topic: 'tea' } }),
    resource: () => client.readResource({ uri: 'acme://issues' }),
    template: () => client.readResource({ uri: 'acme://issues/7' })
  })

  const able = await open(t, server, kinds)
  let url = ''
  for (const [kind, call] of Object.entries(calls(able.client))) {
    const error = await rejection(call())
    t.equal(error.code, -32042, kind)
    url = error.elicitations[0].url
  }
  const unable = await open(t, server, kinds, { capabilities: {} })
  for (const [kind, call] of Object.entries(calls(unable.client))) {
    if (kind === 'bare' || kind === 'arguments') {
      t.match(await call(), { isError: true, content: [{ text: /https:\/\/mcp.example.com\/connect and should/ }] }, kind)
    } else {
      t.match(await rejection(call()), { code: -31042, message: /https:\/\/mcp.example.com\/connect and should/ }, kind)
    }
  }

  await connect(server, url)
  const { bare, arguments: withArguments, prompt, resource, template } = calls(unable.client)
  t.match(await bare!(), content('acme issues:read client-1'))
  t.match(await withArguments!(), content('acme issues:read open client-1'))
  t.match(await prompt!(), { messages: [{ content: { text: 'acme issues:read tea' } }] })
  t.match(await resource!(), { contents: [{ text: 'acme issues:read' }] })
  t.match(await template!(), { contents: [{ text: 'acme issues:read 7' }] })
})

t.test('several providers in one guard: all that are missing come in one answer', async t => {
  const server = await startServer(t)
  const session = await open(t, server, mcp => {
    const { requireConnection } = server.app.mcpConnect.for(mcp)
    mcp.registerTool('both', {}, requireConnection(['acme', 'other'], { other: { reason: 'to compare' } }, ({ acme, other }) => content(`${acme.provider} ${other.provider}`)))
  })
  const { elicitations, message } = await rejection(session.client.callTool({ name: 'both' }))
  t.match(elicitations, [{ message: 'Connect Acme.' }, { message: 'Connect Acme to compare.' }])
  t.not(elicitations[0].elicitationId, elicitations[1].elicitationId)
  t.match(message, /Connect Acme\. Connect Acme to compare\. The user/)
  await connect(server, elicitations[0].url)
  const { elicitations: rest } = await rejection(session.client.callTool({ name: 'both' }))
  t.strictSame(rest, [elicitations[1]], 'the same record while it is pending')
  await connect(server, rest[0].url)
  t.match(await session.client.callTool({ name: 'both' }), content('acme other'))
})

t.test('missing scopes: granted and missing ones are asked for, on the live record, and never in a loop', async t => {
  const server = await startServer(t)
  const tool = (options: RequireOptions) => (mcp: McpServer) => {
    mcp.registerTool('tool', {}, server.app.mcpConnect.for(mcp).requireConnection('acme', options, acme => content(acme.scopes.join())))
  }
  const read = await open(t, server, tool({}))
  const write = await open(t, server, tool({ scopes: ['issues:write', 'offline_access'] }))
  const first = (await rejection(read.client.callTool({ name: 'tool' }))).elicitations[0]
  const wider = (await rejection(write.client.callTool({ name: 'tool' }))).elicitations[0]
  t.equal(wider.elicitationId, first.elicitationId, 'a wider wish amends the pending record')
  t.match((await server.browser(A).get(first.url)).body, /issues:read.*issues:write/)
  await connect(server, first.url)
  t.match(await write.client.callTool({ name: 'tool' }), content('issues:read,issues:write'))

  const admin = await open(t, server, tool({ scopes: ['issues:admin'] }))
  const step = (await rejection(admin.client.callTool({ name: 'tool' }))).elicitations[0]
  const page = (await server.browser(A).get(step.url)).body
  for (const scope of ['issues:read', 'issues:write', 'issues:admin']) t.match(page, scope)
  await connect(server, step.url)                // Acme does not know issues:admin, and grants the others
  for (let i = 0; i < 2; i++) {
    t.match(await admin.client.callTool({ name: 'tool' }), { isError: true, content: [{ text: /did not grant all the permissions that this needs \(missing: issues:admin\)\./ }] })
  }
  t.match(await read.client.callTool({ name: 'tool' }), content('issues:read,issues:write'), 'what was granted still works')
  t.match(server.log.join(''), /"level":40.*"provider":"acme","missing":\["issues:admin"\].*scopeSeparator/)
})

t.test('OAR-21 a grant that has expired for good is asked for again; one that can be refreshed is not', async t => {
  const server = await startServer(t)
  const { url, session } = await server.elicit(A)
  await connect(server, url)
  advance(t, 3600_000)
  t.match(await session.client.callTool({ name: 'issues' }), { content: [{ text: /rabbit hole/ }] })
  advance(t, 60 * 24 * 3600_000)
  t.equal((await rejection(session.client.callTool({ name: 'issues' }))).code, -32042)
})

t.test('authorize is asked at the guard, at the page, at the button and at the redirection endpoint', async t => {
  let allowed = true
  const asked: string[] = []
  const server = await startServer(t, {
    async authorize ({ subject }, provider) {
      asked.push(`${subject} ${provider}`)
      return allowed
    }
  })
  const { url, session } = await server.elicit(A)
  const browser = server.browser(A)
  const callback = await server.untilCallback(browser, url)
  const page = await browser.get(url)
  t.equal(page.statusCode, 200)
  allowed = false
  t.match(await session.client.callTool({ name: 'issues' }), { isError: true, content: [{ text: 'This user is not allowed to use Acme here.' }] })
  t.equal((await browser.get(url)).statusCode, 403)
  t.equal((await browser.get(callback.href)).statusCode, 403)
  t.equal(server.acme.tokenRequests, 0)
  t.ok(asked.every(question => question === 'a acme'))
  allowed = true
  t.equal((await browser.get(callback.href)).statusCode, 409, 'the flow is spent')
  t.equal((await browser.get(url)).statusCode, 409, 'and so is the link')
})

t.test('what the operator got wrong is said when the handler is wrapped', async t => {
  const server = await startServer(t)
  const { requireConnection } = server.app.mcpConnect.for(new McpServer({ name: 'test', version: '1.0.0' }))
  const wrap = requireConnection as (...args: unknown[]) => unknown
  t.throws(() => wrap('nobody', () => {}), { code: 'FST_MCP_CONNECT_UNKNOWN_PROVIDER', message: /"nobody".*acme, other/ })
  t.throws(() => wrap(['acme', 'nobody'], () => {}), { code: 'FST_MCP_CONNECT_UNKNOWN_PROVIDER' })
  for (const args of [
    [], ['acme'], ['acme', {}], ['acme', () => {}, {}], [[], () => {}], [7, () => {}], ['acme', null, () => {}],
    ['acme', { scope: ['x'] }, () => {}], ['acme', { scopes: 'x' }, () => {}], ['acme', { reason: 'see https://x.example' }, () => {}],
    ['acme', { reason: 'two\nlines' }, () => {}], [['acme'], { other: {} }, () => {}], [['acme'], null, () => {}], [['acme', 'acme'], () => {}], ['acme', {}, () => {}, {}], ['acme', { scopes: ['a b'] }, () => {}]
  ]) t.throws(() => wrap(...args), { code: 'FST_MCP_CONNECT_GUARD_OPTIONS' }, inspect(args))
  t.throws(() => server.app.mcpConnect.for({ server: { getClientCapabilities () {} }, registerResource () {} } as never), { code: 'FST_MCP_CONNECT_SDK_MISMATCH', message: /npm ls/ })
  for (const none of [undefined, null, {}, { server: {} }, { server: null }]) {
    t.throws(() => server.app.mcpConnect.for(none as never), { code: 'FST_MCP_CONNECT_NOT_MCP_SERVER' })
  }
})

t.test('errors of the handler, of the host and of the store', async t => {
  const server = await startServer(t, { authorize: ({ subject }) => { if (subject === 'b') throw new Error('canary of the host'); return true } })
  const { url, session } = await server.elicit(A)
  await connect(server, url)
  const failing = await open(t, server, mcp => {
    mcp.registerTool('tool', {}, server.app.mcpConnect.for(mcp).requireConnection('acme', () => { throw new Error('of the handler') }))
  })
  t.match(await failing.client.callTool({ name: 'tool' }), { isError: true, content: [{ text: 'of the handler' }] })

  const bob = await server.openSession({ user: B })
  const trouble = { isError: true, content: [{ text: 'The connection could not be looked up just now. Try again later.' }] }
  t.match(await bob.client.callTool({ name: 'issues' }), trouble)
  t.match(server.log.join(''), 'canary of the host')

  const { get } = server.store.vault
  t.intercept(server.store.vault, 'get', {
    value: async (...args: Parameters<typeof get>) => {
      const stored = await get(...args)
      return stored === null ? null : { ...stored, value: `${stored.value.slice(0, -2)}AA` }
    }
  })
  t.match(await session.client.callTool({ name: 'issues' }), {
    isError: true,
    content: [{ text: 'What is stored for Acme cannot be read at the moment. Try again later. If it stays so, the user can connect again at https://mcp.example.com/connect and should then call this again.' }]
  }, 'VLT-14 a broken seal is not taken for "not connected"')
  t.match(server.log.join(''), 'SEAL_BROKEN')
})

t.test('a client without URL mode: the connections page asks for what the tool needs', async t => {
  const server = await startServer(t)
  const register = (mcp: McpServer): void => {
    const { requireConnection } = server.app.mcpConnect.for(mcp)
    mcp.registerTool('tool', {}, requireConnection('acme', { scopes: ['issues:write'], reason: 'to close issues' }, acme => content(acme.scopes.join())))
  }
  const session = await open(t, server, register, { capabilities: {} })
  t.match(await session.client.callTool({ name: 'tool' }), { isError: true })
  const browser = server.browser(A)
  const { location } = (await browser.press('/connect', '/acme/connect')).headers
  t.match((await browser.get(String(location))).body, /to close issues.*issues:read.*issues:write/s)
  await connect(server, String(location))
  t.match(await session.client.callTool({ name: 'tool' }), content('issues:read,issues:write'))
})

t.test('two tools whose scopes are both withheld do not take turns in asking', async t => {
  const server = await startServer(t)
  const tool = (scope: string) => (mcp: McpServer) => {
    mcp.registerTool('tool', {}, server.app.mcpConnect.for(mcp).requireConnection('acme', { scopes: [scope] }, acme => content(acme.scopes.join())))
  }
  const sessions = [await open(t, server, tool('x1')), await open(t, server, tool('x2'), { clientId: 'client-2' })]
  for (const { client } of sessions) await connect(server, (await rejection(client.callTool({ name: 'tool' }))).elicitations[0].url)
  for (let round = 0; round < 2; round++) {
    for (const { client } of sessions) t.match(await client.callTool({ name: 'tool' }), { isError: true, content: [{ text: /did not grant all/ }] })
  }
})

t.test('a connection that was made with fewer scopes: whoever waits for more is told, and asked by a new link', async t => {
  const server = await startServer(t)
  const reader = await server.elicit(A)
  const writer = await server.elicit(A, { clientId: 'client-2', scopes: ['issues:write'] })
  await connect(server, reader.url)
  await writer.session.client.ping()
  t.strictSame(writer.session.completed, [writer.id])
  const anew = (await rejection(writer.session.client.callTool({ name: 'issues' }))).elicitations[0]
  t.not(anew.elicitationId, writer.id, 'clients take the same link again for a failure')
  t.equal((await server.browser(A).get(writer.url)).statusCode, 200, 'the old one still works')
  await connect(server, anew.url)
  await writer.session.client.ping()
  t.strictSame(writer.session.completed, [writer.id, anew.elicitationId])
  t.match(await writer.session.client.callTool({ name: 'issues' }), { content: [{ text: /rabbit hole/ }] })
})

t.test('what was withheld can be allowed on the connections page, however much later', async t => {
  const server = await startServer(t)
  const { url, session } = await server.elicit(A, { scopes: ['issues:admin'] })
  await connect(server, url)
  t.match(await session.client.callTool({ name: 'issues' }), { isError: true, content: [{ text: /did not grant all/ }] })
  advance(t, 900_000)
  const browser = server.browser(A)
  const { location } = (await browser.press('/connect', '/acme/connect')).headers
  t.match((await browser.get(String(location))).body, 'issues:admin')
})

t.test('an older link for less: what is granted by then is asked for again, and what a narrower grant lost is asked for, not refused', async t => {
  const server = await startServer(t)
  const reader = await server.elicit(A)
  const writer = await server.elicit(A, { clientId: 'client-2', scopes: ['issues:write'] })
  const browser = server.browser(A)
  const early = await server.untilCallback(browser, reader.url)
  await connect(server, writer.url)
  t.match((await browser.get(reader.url)).body, /issues:read.*issues:write/s)
  t.equal((await browser.get(early.href)).statusCode, 303, 'it was under way already, for less')
  const { elicitations } = await rejection(writer.session.client.callTool({ name: 'issues' }))
  t.equal(elicitations.length, 1)
  await connect(server, elicitations[0].url)
  t.match(await writer.session.client.callTool({ name: 'issues' }), { content: [{ text: /rabbit hole/ }] })
})

t.test('what a provider grants without having been asked is not asked for the next time', async t => {
  const server = await startServer(t)
  const { url, session } = await server.elicit(A)
  const { fetch } = undici
  const restore = t.intercept(undici, 'fetch', {
    value: async (...args: Parameters<typeof fetch>) => {
      const response = await fetch(...args)
      if (args[1]?.method !== 'POST') return response
      return Response.json({ ...await response.json() as object, scope: 'issues:read openid admin' })
    }
  })
  await connect(server, url)
  restore.restore()
  t.match(await session.client.callTool({ name: 'issues' }), { content: [{ text: /rabbit hole/ }] })
  const wider = await server.elicit(A, { clientId: 'client-2', scopes: ['issues:write'] })
  const page = (await server.browser(A).get(wider.url)).body
  t.match(page, /issues:read.*issues:write/s)
  t.notMatch(page, /openid|admin/)
})

t.test('whoever declined and has second thoughts is asked for all that the tool needs', async t => {
  const server = await startServer(t)
  const { url, session } = await server.elicit(A, { scopes: ['issues:write'] })
  const browser = server.browser(A)
  await browser.press(url, '/decline')
  t.match(await session.client.callTool({ name: 'issues' }), { isError: true, content: [{ text: /declined.*\/connect/ }] })
  const { location } = (await browser.press('/connect', '/acme/connect')).headers
  t.match((await browser.get(String(location))).body, /issues:read.*issues:write/s)
})
