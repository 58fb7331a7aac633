import formbody from '@fastify/formbody'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import type { LightMyRequestResponse } from 'fastify'
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { buildApp } from '../../examples/own-login.js'
import { allowLoopbackHttp, defineProvider, memoryStore } from '../../lib/index.js'
import { authorizationUrl, findForm, findLink, TestBrowser, title } from '../fixtures/browser.js'
import { openMcpSession } from '../fixtures/mcp-session.js'
import { A, BASE_URL, startServer } from '../fixtures/server.js'

/** What a proxy that serves TLS adds. */
const TLS = { 'x-forwarded-proto': 'https' }

t.test('the application\'s own session says who is there, from the link to the connection', async t => {
  const { acme, answerAtAcme } = await startServer(t)
  const app = await buildApp({
    issuer: A.issuer,
    sessionSecret: randomBytes(32).toString('hex'),
    baseUrl: BASE_URL,
    store: memoryStore(),
    keys: [randomBytes(32).toString('base64')],
    providers: { acme: defineProvider({ name: 'Acme', issuer: acme.issuer, clientId: acme.clientId, clientSecret: acme.clientSecret, scopes: ['issues:read'], apiOrigins: [acme.apiOrigin], [allowLoopbackHttp]: true }) }
  })
  t.teardown(() => app.close())
  // Stands for the page of the application.
  await app.register(formbody)
  app.post<{ Body: { user: string } }>('/login', async (request, reply) => {
    await request.session.regenerate()
    request.session.user = { id: request.body.user, email: `${request.body.user}@example.com` }
    return await reply.code(204).send()
  })
  const signIn = async (browser: TestBrowser, user: string): Promise<LightMyRequestResponse> => await browser.post('/login', { user }, TLS)

  const server = new McpServer({ name: 'test', version: '1.0.0' })
  server.registerTool('issues', {}, app.mcpConnect.for(server).requireConnection('acme', { reason: 'to list your issues' }, async ({ fetch }) => (
    { content: [{ type: 'text', text: await (await fetch(`${acme.apiOrigin}/api/issues`)).text() }] })))
  const session = await openMcpSession(server, { user: { issuer: A.issuer, subject: 'a' } })
  t.teardown(() => session.close())
  const error = await session.client.callTool({ name: 'issues' }).catch(error => error)
  t.match(error, { code: -32042, elicitations: [{ message: 'Connect Acme to list your issues.' }] })
  t.match(session.wire.at(-1), { error: { code: -32042 } })
  const { url } = error.elicitations[0]
  const { pathname } = new URL(url)

  const browser = new TestBrowser(app, null)
  const parameters = (returnTo: string): string => new URLSearchParams({ returnTo }).toString()
  t.match(await browser.get(url, TLS), { statusCode: 303, headers: { location: `/login?${parameters(pathname)}` } })
  await signIn(browser, 'b')
  const refused = await browser.get(url, TLS)
  t.equal(refused.statusCode, 403)
  t.match(refused.body, 'b@example.com')
  t.equal(findLink(refused, 'Sign in with another account'), `/login?${parameters(pathname)}&switch=true`)

  t.match(String((await signIn(browser, 'a')).headers['set-cookie']), /^sessionId=.*; HttpOnly; Secure; SameSite=Lax$/)
  const page = await browser.get(url, TLS)
  t.equal(title(page), 'Connect Acme to mcp.example.com?')
  t.match(page.body, 'a@example.com')
  const { action, fields } = findForm(page, '/start')
  const callback = await answerAtAcme(authorizationUrl(await browser.post(action, fields, TLS)))
  t.equal((await browser.get(callback.href, TLS)).statusCode, 303)
  t.match(await session.client.callTool({ name: 'issues' }), { content: [{ text: /rabbit hole/ }] })
})
