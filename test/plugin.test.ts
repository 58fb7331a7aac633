import fastifyCookie from '@fastify/cookie'
import formbody from '@fastify/formbody'
import fastifySession from '@fastify/session'
import Fastify, { type FastifyInstance, type LightMyRequestResponse } from 'fastify'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, get, type IncomingMessage } from 'node:http'
import { connect, type IncomingHttpHeaders } from 'node:http2'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { allowLoopbackHttp, defineProvider, mcpConnect, memoryStore } from '../lib/index.js'
import type { McpConnect } from '../lib/decorator.js'
import type { McpConnectOptions } from '../lib/types.js'
import { authorizationUrl, findForm, TestBrowser, USER_HEADER } from './fixtures/browser.js'
import { A } from './fixtures/server.js'

const options = (change: Partial<McpConnectOptions> = {}): McpConnectOptions => ({
  baseUrl: 'https://mcp.example.com',
  store: memoryStore(),
  keys: [randomBytes(32).toString('base64')],
  browser: { identify: request => request.headers[USER_HEADER] === undefined ? null : A },
  providers: { acme: defineProvider({ name: 'Acme', issuer: 'https://acme.example', clientId: 'id', apiOrigins: ['https://api.acme.example'] }) },
  ...change
})

t.test('the host\'s hooks, parsers, error and 404 handlers are its own', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  const hooked: string[] = []
  app.addHook('onRequest', async request => { hooked.push(request.url) })
  app.setErrorHandler((error, _request, reply) => reply.code(599).send(`host: ${(error as Error).message}`))
  app.setNotFoundHandler((_request, reply) => reply.code(404).send('host: not found'))
  app.addContentTypeParser('text/special', { parseAs: 'string' }, async (_request: unknown, body: string) => body.toUpperCase())
  await app.register(mcpConnect, options())
  app.post('/echo', async request => ({ body: request.body }))
  app.get('/fail', async () => { throw new Error('mine') })

  const echo = async (type: string, payload: string): Promise<string> => (await app.inject({ method: 'POST', url: '/echo', headers: { 'content-type': type }, payload })).body
  t.equal(await echo('text/special', 'x'), '{"body":"X"}')
  t.equal(await echo('application/json', '{"a":1}'), '{"body":{"a":1}}')
  t.match(await echo('application/x-www-form-urlencoded', 'a=1'), /^host: Unsupported Media Type/, 'our form parser stays with us')
  t.equal((await app.inject('/fail')).body, 'host: mine')
  const missing = await app.inject('/nothing')
  t.equal(missing.body, 'host: not found')
  t.equal(missing.headers['content-security-policy'], undefined)
  t.equal(app.hasReplyDecorator('setCookie'), false, 'nor are there decorators that the host did not ask for')

  t.match((await app.inject('/connect/no/such/page')).body, 'Nothing here', 'and ours are ours')
  t.match((await app.inject({ method: 'POST', url: `/connect/${'x'.repeat(43)}/start`, headers: { 'content-type': 'application/json' }, payload: '{}' })).body, 'This form is not one of ours')
  t.ok(hooked.includes('/connect/no/such/page'), 'the host\'s hooks see our routes too, as with any plugin')
})

t.test('a host that answers all other addresses does not answer ours', async t => {
  const lines: string[] = []
  const app = Fastify({ logger: { stream: { write (line: string) { lines.push(line) } } } })
  t.teardown(() => app.close())
  app.route({ method: ['GET', 'POST', 'OPTIONS'], url: '/*', handler: async () => 'host' })
  await app.register(mcpConnect, options())
  t.equal((await app.inject('/elsewhere')).body, 'host')
  for (const method of ['GET', 'HEAD', 'POST', 'OPTIONS', 'DELETE'] as const) {
    const answer = await app.inject({ method, url: '/connect/callback/acme/?code=canary&state=canary' })
    t.equal(answer.statusCode, 404, method)
    t.match(answer.headers, { 'x-frame-options': 'DENY' })
  }
  t.notMatch(lines.join(''), 'canary')
})

t.test('beside the host\'s own @fastify/cookie, @fastify/formbody and @fastify/session', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(fastifyCookie, { secret: 'secret-of-the-host', parseOptions: { path: '/host' } })
  await app.register(formbody)
  await app.register(fastifySession, { secret: randomBytes(32).toString('hex'), cookie: { secure: false }, cookieName: 'host-session' })
  await app.register(mcpConnect, options({
    browser: { identify: request => request.session.get<any>('user') ?? null, signInUrl: returnTo => `/login?returnTo=${encodeURIComponent(returnTo)}` }
  }))
  app.post<{ Body: { name: string } }>('/login', async (request, reply) => {
    request.session.set<any>('user', { ...A, label: request.body.name })
    return reply.setCookie('own', 'x').send('ok')
  })
  const browser = new TestBrowser(app, null)
  t.equal((await browser.get('/connect')).headers.location, '/login?returnTo=%2Fconnect')
  t.equal((await browser.post('/login', { name: 'Alice' })).statusCode, 200)
  const page = await browser.get('/connect')
  t.match(page.body, 'Signed in as <strong>Alice</strong>')
  t.match([...browser.cookies.keys()].sort(), [/^__Host-mcp-connect-form-/, 'host-session', 'own'])
  t.equal((await browser.press('/connect', '/acme/connect')).statusCode, 303)
})

t.test('in a child with a prefix, and behind a proxy that takes a path off', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  let connectionsUrl = ''
  await app.register(async child => {
    await child.register(mcpConnect, options({ baseUrl: 'https://example.com/public/', prefix: '/links' }))
    connectionsUrl = child.mcpConnect.connectionsUrl
  }, { prefix: '/mcp' })
  t.equal(connectionsUrl, 'https://example.com/public/mcp/links')
  const response = await app.inject({ url: '/mcp/links', headers: { [USER_HEADER]: 'a' } })
  t.match(response.body, 'action="https://example.com/public/mcp/links/providers/acme/connect"')
  t.equal(app.hasDecorator('mcpConnect'), false)
})

t.test('Host and X-Forwarded-Host have no say in our addresses', async t => {
  const app = Fastify({ trustProxy: true })
  t.teardown(() => app.close())
  await app.register(mcpConnect, options())
  const { body } = await app.inject({ url: '/connect', headers: { [USER_HEADER]: 'a', host: 'attacker.example', 'x-forwarded-host': 'attacker.example' } })
  t.match(body, 'action="https://mcp.example.com/connect/providers/acme/connect"')
  t.notMatch(body, 'attacker')
})

t.test('an identity that is none is a fault of the host, said in its log', async t => {
  const lines: string[] = []
  const app = Fastify({ logger: { stream: { write (line: string) { lines.push(line) } } } })
  t.teardown(() => app.close())
  await app.register(mcpConnect, options({ browser: { identify: () => ({ subject: 'a' }) as never } }))
  t.equal((await app.inject('/connect')).statusCode, 500)
  t.match(lines.join(''), 'browser.identify must return null, or an object with')
})

t.test('without a sign-in address the page says what to do', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(mcpConnect, options())
  const { statusCode, body } = await app.inject('/connect')
  t.equal(statusCode, 401)
  t.match(body, 'Sign in to this server in this browser, then start again.')
})

t.test('closing waits for what is under way, then closes the store', async t => {
  let arrived = (): void => {}
  let release = (): void => {}
  const tokenRequest = new Promise<void>(resolve => { arrived = resolve })
  const server = createServer((_request, response) => {
    arrived()
    release = () => response.writeHead(200, { 'content-type': 'application/json' }).end('{"access_token":"x","token_type":"bearer"}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => { server.close(); server.closeAllConnections() })
  const origin = `http://127.0.0.1:${(server.address() as { port: number }).port}`

  const events: string[] = []
  const store = memoryStore()
  const { put } = store.vault
  const spied = {
    ...store,
    vault: { ...store.vault, put: async (...args: Parameters<typeof put>) => { events.push('stored'); return await put(...args) } },
    close: async () => { events.push('closed'); await store.close() }
  }
  const app: FastifyInstance = Fastify()
  await app.register(mcpConnect, options({
    baseUrl: 'http://localhost',
    store: spied,
    providers: {
      acme: defineProvider({
        name: 'Acme', issuer: origin, endpoints: { authorization: `${origin}/a`, token: `${origin}/t` }, clientId: 'id', apiOrigins: [origin], [allowLoopbackHttp]: true
      })
    }
  }))
  await app.listen({ host: '127.0.0.1', port: 0 })
  const browser = new TestBrowser(app, A)
  const headers = { origin: 'http://localhost' }
  const page = await browser.get('/connect')
  const [, csrf = ''] = /acme\/connect"><input type="hidden" name="csrf" value="([^"]+)"/.exec(page.body) ?? []
  const { location } = (await browser.post('/connect/providers/acme/connect', { csrf }, headers)).headers
  const [, start = ''] = /\/start"><input type="hidden" name="csrf" value="([^"]+)"/.exec((await browser.get(String(location))).body) ?? []
  const state = authorizationUrl(await browser.post(`${String(location)}/start`, { csrf: start }, headers)).searchParams.get('state')

  const { port } = app.server.address() as { port: number }
  const callback = once(get(`http://127.0.0.1:${port}/connect/callback/acme?code=x&state=${state}`, {
    agent: false,
    headers: { [USER_HEADER]: 'a', cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ') }
  }), 'response') as Promise<[IncomingMessage]>
  await tokenRequest
  const closing = app.close()
  release()
  const [answer] = await callback
  t.equal(answer.statusCode, 303)
  answer.resume()
  await closing
  t.strictSame(events, ['stored', 'closed'])
})

/** A host may throw anything, also what is no Error. */
const throwing = (thrown: unknown) => (): never => { throw thrown }

t.test('what the host\'s own functions do wrong ends in a page, and in the log', async t => {
  for (const [change, status, logged] of [
    [{ browser: { identify: () => { throw Object.assign(new Error('canary of identify'), { statusCode: 401 }) } } }, 401, /canary of identify/],
    [{ browser: { identify: throwing(null) } }, 500, /FST_ERR_SEND_UNDEFINED_ERR/],
    [{ browser: { identify: () => { throw new DOMException('canary of a time-out', 'TimeoutError') } } }, 500, /canary of a time-out/],
    [{ browser: { identify: () => { throw Object.assign(new Error('canary of a driver'), { code: 11000, statusCode: '403' }) } } }, 500, /canary of a driver/],
    [{ browser: { identify: throwing({ statusCode: 429, error: 'canary', message: 'canary' }) } }, 429, /"status":429/],
    [{ browser: { identify: () => { throw Object.freeze(new Error('canary')) } } }, 500, /"level":50/],
    [{ browser: { identify: throwing({ get code () { throw new Error('canary') } }) } }, 500, /no Error was thrown/],
    [{ browser: { identify: () => { throw Object.assign(new Error('canary'), { status: 429 }) } } }, 429, /"status":429/],
    [{ browser: { identify: (_request, reply) => { reply.code(403); throw new Error('canary') } } }, 403, /"status":403/],
    [{ browser: { identify: () => { throw Object.assign(new Error('canary'), { code: 'FST_MCP_CONNECT_constructor' }) } } }, 500, /FST_MCP_CONNECT_constructor/],
    [{ browser: { identify: () => { throw Object.assign(new Error('canary'), { code: 'FST_JWT_NO_AUTHORIZATION', statusCode: 401 }) } } }, 401, /"reason"/],
    [{ browser: { identify: () => { throw Object.assign(new Error('canary'), { code: 'ECONNREFUSED' }) } } }, 500, /"stack"/],
    [{ browser: { identify: () => undefined as never } }, 401, /SIGN_IN_REQUIRED/],
    [{ browser: { identify: () => null, signInUrl: () => { throw new Error('canary of signInUrl') } } }, 500, /canary of signInUrl/],
    [{ browser: { identify: () => null, signInUrl: async () => '/login' } as never }, 500, /SIGN_IN_URL_INVALID/],
    [{ browser: { identify: () => null, signInUrl: () => '//attacker.example' } }, 500, /path on this server/],
    [{ browser: { identify: () => null, signInUrl: () => '/login\r\nset-cookie: canary=1' } }, 500, /SIGN_IN_URL_INVALID/],
    [{ browser: { identify: () => null, signInUrl: () => new URL('https://login.example.com/') } as never }, 500, /SIGN_IN_URL_INVALID/],
    [{ browser: { identify: () => { throw Object.assign(new Error('canary'), { code: 'HOST_FST_ERR_CANARY', statusCode: 403 }) } } }, 403, /refused by this application/],
    [{ browser: { identify: () => { throw Object.defineProperty(Object.assign(new Error('canary'), { statusCode: 403 }), 'message', { get () { throw new Error('canary') } }) } } }, 403, /cannot be logged/],
    [{ browser: { identify: () => null, signInUrl: () => 'javascript:alert(1)' } }, 500, /path on this server/],
    [{ authorize: () => { throw new Error('canary of authorize') } }, 500, /canary of authorize/]
  ] as Array<[Partial<McpConnectOptions>, number, RegExp]>) {
    const lines: string[] = []
    const app = Fastify({ logger: { stream: { write (line: string) { lines.push(line) } } } })
    await app.register(mcpConnect, options(change))
    for (const [method, url] of [['GET', '/connect'], ['POST', '/connect/providers/acme/connect']] as const) {
      const { statusCode, body, headers } = await app.inject({ method, url, headers: { [USER_HEADER]: 'a', 'content-type': 'application/x-www-form-urlencoded' }, payload: '' })
      if (method === 'GET') t.equal(statusCode, status, String(logged))
      if (statusCode === 500) t.match(body, '<h1>Something went wrong</h1>', String(logged))
      t.match(headers['content-type'], 'text/html')
      t.notMatch(body, /canary|<h1><|undefined/)
    }
    t.match(lines.join(''), logged)
    await app.close()
  }
})

t.test('what somebody says under a code of Fastify\'s is not repeated', async t => {
  const lines: string[] = []
  const app = Fastify({ logger: { stream: { write (line: string) { lines.push(line) } } } })
  t.teardown(() => app.close())
  await app.register(mcpConnect, options({ browser: { identify: () => { throw Object.assign(new Error('canary', { cause: new Error('canary') }), { code: 'FST_ERR_OF_A_HOST', statusCode: 400 }) } } }))
  t.equal((await app.inject('/connect')).statusCode, 400)
  t.match(lines.join(''), 'FST_ERR_OF_A_HOST')
  t.notMatch(lines.join(''), 'canary')
})

t.test('T16 the way back after signing in is a path of ours, however the request was spelled', async t => {
  const app = Fastify({ routerOptions: { ignoreDuplicateSlashes: true, ignoreTrailingSlash: true } })
  t.teardown(() => app.close())
  const asked: string[] = []
  await app.register(mcpConnect, options({ browser: { identify: () => null, signInUrl: returnTo => { asked.push(returnTo); return '/login' } } }))
  for (const url of ['//connect//evil.example', '//connect/admin', '/connect/..\\\\evil.example', '/connect/%2e%2e/done', '/connect//', `//connect//${'x'.repeat(43)}`, `/connect/${'x'.repeat(43)}/done?x=1`]) await app.inject(url)
  t.ok(asked.length >= 3)
  for (const path of asked) t.match(path, /^\/connect(\/x{43}(\/done)?)?$/)
})

t.test('BRW-11 a host\'s own refusal keeps its status, and is a page with our headers', async t => {
  for (const hook of ['onRequest', 'preHandler'] as const) {
    for (const [statusCode, title] of [[401, 'Sign in first'], [403, 'Not allowed'], [413, 'Too large'], [418, 'could not be read'], [429, 'Too many'], [503, 'Not available']] as const) {
      const lines: string[] = []
      const app = Fastify({ logger: { stream: { write (line: string) { lines.push(line) } } } })
      app.addHook(hook, async (_request: unknown, reply: any) => {
        reply.header('retry-after', '7')
        throw Object.assign(new Error('canary of the host'), { statusCode })
      })
      await app.register(mcpConnect, options())
      const answer = await app.inject({ url: '/connect', headers: { [USER_HEADER]: 'a' } })
      t.equal(answer.statusCode, statusCode, hook)
      t.match(answer.headers, { 'x-frame-options': 'DENY', 'cache-control': 'no-store', 'content-type': /html/, 'retry-after': '7', 'content-security-policy': /frame-ancestors 'none'/ })
      t.notMatch(answer.body, 'canary')
      t.match(answer.body, title)
      t.equal(/"level":50/.test(lines.join('')), statusCode >= 500, 'a flood of refusals does not fill the error log')
      await app.close()
    }
  }
})

t.test('twice in one application, each with its own name, prefix, cookies and login', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  const second = { prefix: '/connect-2', cookieName: 'second', decoratorName: 'second' }
  const keys = [randomBytes(32).toString('base64')]
  await app.register(mcpConnect, options({ keys }))
  await app.register(mcpConnect, options({ keys, ...second }))
  t.equal(app.mcpConnect.connectionsUrl, 'https://mcp.example.com/connect')
  t.equal(app.getDecorator<McpConnect>('second').connectionsUrl, 'https://mcp.example.com/connect-2')
  const browser = new TestBrowser(app, A)
  // Two tabs, opened before either form is sent.
  const forms = await Promise.all(['/connect', '/connect-2'].map(async page => findForm(await browser.get(page), '/acme/connect')))
  const [first = '', other = ''] = [...browser.cookies.keys()].sort()
  t.match([first, other], [/^__Host-mcp-connect-form-/, /^__Host-second-form-/])
  for (const { action, fields } of forms) t.equal((await browser.post(action, fields)).statusCode, 303)
  t.equal((await browser.post(forms[0]!.action, forms[1]!.fields)).statusCode, 403, 'what one has signed is nothing to the other')
  const moved = new TestBrowser(app, A)
  moved.cookies.set(first, browser.cookies.get(other)!)
  t.equal((await moved.post(forms[0]!.action, forms[0]!.fields)).statusCode, 403, 'nor what one has sealed')
  const store = memoryStore()
  for (const shared of [{ vault: store.vault }, { state: store.state }]) {
    await t.rejects(async () => await Fastify().register(async app => {
      await app.register(mcpConnect, options({ store }))
      await app.register(mcpConnect, options({ ...second, store: { ...memoryStore(), ...shared } }))
    }), { code: 'FST_MCP_CONNECT_OPTIONS', message: /same store or vault; give each its own/ })
  }
  for (const clash of [{ ...second, decoratorName: 'third' }, { ...second, decoratorName: 'third', prefix: '/connect-3' }, { ...second, decoratorName: 'third', cookieName: 'third' }, { ...second, prefix: '/connect-3', cookieName: 'third' }]) {
    await t.rejects(async () => await Fastify().register(async app => {
      await app.register(mcpConnect, options(second))
      await app.register(async child => { await child.register(mcpConnect, options(clash)) })
    }), { code: 'FST_MCP_CONNECT_OPTIONS', message: /decoratorName|the same (cookieName|prefix|cookieName and prefix) \(/ }, JSON.stringify(clash))
  }
})

t.test('with HTTP/2', async t => {
  const app = Fastify({ http2: true })
  t.teardown(() => app.close())
  await app.register(mcpConnect, options() as never)
  await app.listen({ host: '127.0.0.1', port: 0 })
  const session = connect(`http://127.0.0.1:${(app.server.address() as { port: number }).port}`)
  t.teardown(() => session.close())
  const request = async (headers: Record<string, string>, body = ''): Promise<{ headers: IncomingHttpHeaders & { ':status'?: number }, body: string }> => {
    const stream = session.request({ ':method': body === '' ? 'GET' : 'POST', [USER_HEADER]: 'a', ...headers }, { endStream: body === '' })
    if (body !== '') stream.end(body)
    const [answer] = await once(stream, 'response') as [IncomingHttpHeaders & { ':status'?: number }]
    return { headers: answer, body: await text(stream) }
  }
  const page = await request({ ':path': '/connect' })
  t.equal(page.headers[':status'], 200)
  t.match(page.headers['content-security-policy'], /frame-ancestors 'none'/)
  const { action, fields } = findForm({ body: page.body } as LightMyRequestResponse, '/acme/connect')
  const answer = await request({
    ':path': new URL(action).pathname,
    cookie: String(page.headers['set-cookie']).split(';')[0]!,
    origin: 'https://mcp.example.com',
    'content-type': 'application/x-www-form-urlencoded'
  }, new URLSearchParams(fields).toString())
  t.equal(answer.headers[':status'], 303)
  t.match(answer.headers.location, /^https:\/\/mcp\.example\.com\/connect\/[\w-]{43}$/)
  t.equal((await request({ ':path': '/connect/no/such/page' })).headers[':status'], 404)
})

t.test('with exposeHeadRoutes and a strict error handler of the host', async t => {
  const app = Fastify({ exposeHeadRoutes: true, frameworkErrors: (_error, _request, reply) => reply.code(400 as never).send('host' as never) as never })
  t.teardown(() => app.close())
  app.setErrorHandler((error, _request, reply) => {
    if (typeof (error as { statusCode?: unknown }).statusCode !== 'number') throw error
    return reply.code(500).type('application/json').send({ failed: true })
  })
  app.setSchemaErrorFormatter(() => new Error('host: schema'))
  await app.register(mcpConnect, options())
  for (const url of ['/connect', `/connect/${'x'.repeat(43)}`, '/connect/callback/acme?code=x&state=x']) {
    const head = await app.inject({ method: 'HEAD', url, headers: { [USER_HEADER]: 'a' } })
    t.equal(head.statusCode, 405)
    t.equal(head.headers['x-frame-options'], 'DENY')
  }
  const refused = await app.inject({ url: '/connect/callback/acme?code=x&state=x', headers: { [USER_HEADER]: 'a' } })
  t.equal(refused.statusCode, 400)
  t.match(refused.headers['content-type'], 'text/html')
})

t.test('the host\'s serializers are its own, but for the addresses of our pages', async t => {
  const lines: string[] = []
  const app = Fastify({ logger: { stream: { write (line: string) { lines.push(line) } } } })
  t.teardown(() => app.close())
  await app.register(async child => { await child.register(mcpConnect, options()) }, { logSerializers: { req: request => request.url, res: () => 'of the host' } })
  await app.inject({ url: '/connect?code=canary', headers: { [USER_HEADER]: 'a' } })
  t.match(lines.join(''), '"res":"of the host"')
  t.notMatch(lines.join(''), 'canary')
})

t.test('a base URL with characters that mean something elsewhere, and what the host says of caches', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  app.addHook('onRequest', async (_request, reply) => { reply.header('vary', 'Origin') })
  await app.register(mcpConnect, options({ baseUrl: 'https://mcp.example.com/a(b/c++&copy/' }))
  const page = await app.inject({ url: '/connect', headers: { [USER_HEADER]: 'a' } })
  t.equal(page.statusCode, 200)
  t.match(page.body, 'action="https://mcp.example.com/a(b/c++&#38;copy/connect/providers/acme/connect"')
  t.equal(page.headers.vary, 'Origin, Accept, Cookie')
  t.equal((await app.inject('/connect/no/such/page')).headers.vary, 'Origin, Accept, Cookie')
})

t.test('BRW-11 hooks that the host adds after the plugin do not change the headers of its pages', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(mcpConnect, options())
  app.get('/mine', async () => 'mine')
  app.addHook('onSend', async (_request, reply) => { reply.headers({ 'access-control-allow-origin': '*', 'cache-control': 'public', 'x-frame-options': 'SAMEORIGIN' }) })
  t.match((await app.inject('/mine')).headers, { 'access-control-allow-origin': '*' })
  for (const [url, status] of [['/connect', 200], ['/connect/callback/acme', 400]] as const) {
    const { statusCode, headers } = await app.inject({ url, headers: { [USER_HEADER]: 'a' } })
    t.equal(statusCode, status)
    t.match(headers, { 'cache-control': 'no-store', 'x-frame-options': 'DENY' })
    t.equal(headers['access-control-allow-origin'], undefined)
  }
})

t.test('routes of the host beneath the prefix take what Fastify takes', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  app.get('/connect/files/:name', async () => 'mine')
  app.get('/connect/all/*', async () => 'mine')
  await app.register(mcpConnect, options())
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  for (const path of [`/connect/files/${'x'.repeat(80)}`, `/connect/all/${'x'.repeat(300)}`]) t.equal(await (await fetch(address + path)).text(), 'mine', path.slice(0, 20))
})
