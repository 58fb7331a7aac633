import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import type { LightMyRequestResponse } from 'fastify'
import { isDeepStrictEqual } from 'node:util'
import t, { type Test } from 'tap'
import { headerFaults } from './fixtures/headers.js'
import { openMcpSession } from './fixtures/mcp-session.js'
import { printed } from './fixtures/printed.js'
import { refused, type Refusal } from './fixtures/refused.js'
import { A, B, startServer, type TestServer } from './fixtures/server.js'
import { watch } from './fixtures/watch.js'

// What every test that has a server shows by the way, and what shows that it would be noticed.

/** From the link to the end. @returns the address of the redirection endpoint */
async function connect (server: TestServer): Promise<URL> {
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  const callback = await server.untilCallback(browser, url)
  await browser.get(callback.href)
  return callback
}

const codeOf = ({ searchParams }: URL): string => searchParams.get('code')!

t.test('LOG-13 all that is secret becomes known to the watch over a test', async t => {
  const server = await startServer(t)
  await connect(server)
  t.strictSame([...server.watch.secrets.names].sort(), ['Basic header', 'MCP access token', 'access_token', 'client secret', 'code', 'code_verifier', 'flow cookie', 'form cookie',
    'form token', 'key', 'link', 'refresh_token', 'state'])
})

/** What a host, or a mistake of ours, might do with a code or a token. */
const LEAKS: Readonly<Record<string, (server: TestServer, code: string, t: Test) => unknown>> = {
  'code in the log': ({ app }, code) => app.log.trace({ seen: Buffer.from(code).toString('base64') }),
  'code in an audit event': ({ watch }, code) => watch.audit.push({ event: 'vault.read', at: 0, principal: code, provider: 'acme' }),
  'code on the console': (_server, code) => console.error('planted, to be found: %s', Buffer.from(code).toString('hex')),
  'code in an answer': async ({ browser }, code) => await browser({ ...A, label: code }).get('/connect'),
  'access_token in what MCP clients got': async ({ app }, _code, t) => {
    const server = new McpServer({ name: 'test', version: '1.0.0' })
    server.registerTool('leak', {}, app.mcpConnect.for(server).requireConnection('acme', async acme => ({ content: [{ type: 'text', text: await acme.accessToken() }] })))
    const { client, close } = await openMcpSession(server, { user: A })
    t.teardown(close)
    await client.callTool({ name: 'leak' })
  }
}

for (const [found, leak] of Object.entries(LEAKS)) {
  t.test(`LOG-13 ${found}: it fails the test`, async t => {
    watch(t, [found])
    const server = await startServer(t)
    await leak(server, codeOf(await connect(server)), t)
  })
}

t.test('what is said on the console is heard, however it is said', async t => {
  const before = printed.length
  console.info('# %s', 'planted')
  process.stderr.write(Buffer.from('planted, in bytes\n'))
  t.strictSame(printed.slice(before), ['# planted', 'planted, in bytes\n'])
})

t.test('BRW-11 a header that is missing, or says something else, fails the test', async t => {
  const { headers } = await (await startServer(t)).browser(A).get('/connect')
  t.strictSame(headerFaults(headers, true), [])
  for (const name of ['content-security-policy', 'x-frame-options', 'x-content-type-options', 'referrer-policy', 'cache-control', 'vary', 'cross-origin-opener-policy',
    'cross-origin-resource-policy', 'x-robots-tag', 'strict-transport-security', 'content-type']) {
    for (const value of [undefined, 'x', `${String(headers[name])}, x`]) t.match(headerFaults({ ...headers, [name]: value }, true), [new RegExp(`^${name}: `)])
  }
  t.match(headerFaults({ ...headers, 'access-control-allow-origin': '*' }, true), ['access-control-allow-origin: *'])
  t.strictSame(headerFaults({ ...headers, 'strict-transport-security': undefined }, false), [], 'on loopback there is no TLS')
})

t.test('BRW-11 and so does an answer of ours', async t => {
  watch(t, ['the answer 200 at /connect has x-frame-options: SAMEORIGIN'])
  const server = await startServer(t, {
    browser: {
      identify (_request, reply) {
        const headers = reply.headers.bind(reply)
        reply.headers = values => headers({ ...values, 'x-frame-options': 'SAMEORIGIN' })
        return A
      }
    }
  })
  await server.browser(A).get('/connect')
})

t.test('a request that is turned down, but not as it should be, fails the test', async t => {
  const server = await startServer(t)
  const { url, session } = await server.elicit(A)
  const [alice, bob] = [server.browser(A), server.browser(B)]
  const callback = await server.untilCallback(alice, url)
  const { store: { vault, state }, acme } = server
  const mismatch: Refusal = { status: 403, code: 'SUBJECT_MISMATCH', event: 'elicitation.subject_mismatch', owner: A }
  const open = async (): Promise<LightMyRequestResponse> => await bob.get(url)
  const after = (deed: (answer: LightMyRequestResponse) => unknown) => async (): Promise<LightMyRequestResponse> => {
    const answer = await open()
    await deed(answer)
    return answer
  }
  const verdict = async (request: () => Promise<LightMyRequestResponse>, refusal: Refusal): Promise<boolean> => {
    let good = true
    await refused({ strictSame: (found: unknown, wanted: unknown) => { good = isDeepStrictEqual(found, wanted) } } as unknown as Test, server, request, refusal)
    return good
  }
  t.equal(await verdict(open, mismatch), true)
  for (const [what, request, refusal = mismatch] of [
    ['another status', open, { ...mismatch, status: 404 }],
    ['another code', open, { ...mismatch, code: 'NOT_FOUND' }],
    ['another event', open, { ...mismatch, event: 'request.refused' }],
    ['another user in the event', open, { ...mismatch, user: A }],
    ['another owner in the event', open, { ...mismatch, owner: B }],
    ['nobody in the event', open, { ...mismatch, user: null }],
    ['no refusal', async () => await alice.get(url)],
    ['a further event', after(async () => await server.app.mcpConnect.reseal()), { ...mismatch, before: ['vault.read'] }],
    ['two requests', after(open)],
    ['a grant that is stored', after(async () => await vault.put('owner', 'name', 'value', null))],
    ['a record that is written', after(async () => await state.put('flow:x', 'value', null))],
    ['a record that is deleted', after(async () => await state.delete('flow:x', null as never))],
    ['a token request', after(async () => await fetch(`${acme.issuer}/token`, { method: 'POST' }))],
    ['a session that is told', after(async () => await session.server.server.createElicitationCompletionNotifier(url.split('/').at(-1)!)())],
    ['a cookie', after(answer => Object.defineProperty(answer, 'cookies', { value: [{ name: '__Host-mcp-connect-flow-0123456789abcdef', value: 'x' }] }))],
    ['a way on', after(answer => { answer.headers.location = callback.href })]
  ] as Array<[string, () => Promise<LightMyRequestResponse>, Refusal?]>) t.equal(await verdict(request, refusal), false, what)
})
