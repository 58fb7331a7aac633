import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import type { BrowserUser } from '../../lib/types.js'
import { authorizationUrl } from '../fixtures/browser.js'
import { linkIn, openHttpSession, readMessage, type HttpSession } from '../fixtures/http-session.js'
import { addEndpoint } from '../fixtures/own-endpoint.js'
import { refused } from '../fixtures/refused.js'
import { startScriptedProvider, type ScriptedProvider } from '../fixtures/scripted-provider.js'
import { Secrets } from '../fixtures/secrets.js'
import { A, B, startServer, type TestServer } from '../fixtures/server.js'
import { watch } from '../fixtures/watch.js'

interface OverHttp {
  readonly server: TestServer
  readonly scripted: ScriptedProvider
  /** Opens an MCP session of a user, by an access token of their own. */
  open (user: BrowserUser): Promise<HttpSession & { readonly bearer: string }>
}

/** One endpoint for all users, as the quick start has it, with one tool that calls the API of a scripted provider. */
async function start (t: Test): Promise<OverHttp> {
  const { secrets } = watch(t)
  const scripted = await startScriptedProvider(t, secrets)
  const server = await startServer(t, {
    limits: { principal: false, elicitations: false },
    beside: [scripted],
    acme: { issuer: scripted.issuer, clientId: 'acme', clientSecret: scripted.clientSecrets.acme, apiOrigins: [scripted.issuer] }
  })
  const { app } = server
  const users = new Map<string, BrowserUser>()
  addEndpoint(app, () => {
    const server = new McpServer({ name: 'test', version: '1.0.0' })
    server.registerTool('issues', {}, app.mcpConnect.for(server).requireConnection('acme', async ({ fetch }) =>
      ({ content: [{ type: 'text', text: await (await fetch(`${scripted.issuer}/api/issues`)).text() }] })))
    return server
  }, async token => {
    const { issuer: iss, subject: sub, tenant: tid } = users.get(token)!
    return { token, clientId: 'client', scopes: [], extra: { iss, sub, tid } }
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  return {
    server,
    scripted,
    async open (user) {
      const bearer = randomBytes(32).toString('base64url')
      secrets.add('MCP access token', bearer)
      users.set(bearer, user)
      return { bearer, ...await openHttpSession(`http://127.0.0.1:${port}/mcp`, bearer) }
    }
  }
}

const call = (id: number): Parameters<HttpSession['ask']>[0] => ({ id, method: 'tools/call', params: { name: 'issues' } })

t.test('OAR-31 the access token of MCP calls reaches no third party, and those of the provider no client', async t => {
  const { server, scripted, open } = await start(t)
  const { bearer, ask } = await open(A)
  const asked = await ask(call(1))
  const browser = server.browser(A)
  const callback = await scripted.authorize(authorizationUrl(await browser.press(linkIn(asked), '/start')))
  t.equal((await browser.get(callback.href)).statusCode, 303)
  const done = await ask(call(2))
  t.match(readMessage(done).result, { content: [{ text: '["the one issue"]' }] })

  const mcp = new Secrets()
  mcp.add('MCP access token', bearer)
  t.strictSame(mcp.find(JSON.stringify(scripted.requests)), [])
  t.strictSame(new Set(scripted.requests.map(({ path }) => path)), new Set(['/.well-known/openid-configuration', '/authorize', '/token', '/api/issues']), 'all of them were looked at')
  t.match(scripted.requests.at(-1), { path: '/api/issues', headers: { authorization: /^Bearer [\w-]{43}$/ } })
  t.strictSame(server.watch.secrets.find(`${asked}${done}`).map(found => found.split(' ')[0]), ['link'])
})

t.test('TEN-09 calls at once, of two users, with one request id: each gets the link of their own', async t => {
  const { server, open } = await start(t)
  const [alice, bob] = [await open(A), await open(B)]
  for (let id = 1; id <= 20; id++) {
    const order = id % 2 === 0 ? [alice, bob] : [bob, alice]
    const links = new Map(await Promise.all(order.map(async session => [session, linkIn(await session.ask(call(id)))] as const)))
    const [own, foreign] = [links.get(alice)!, links.get(bob)!]
    t.not(own, foreign)
    t.equal((await server.browser(A).get(own)).statusCode, 200)
    t.equal((await server.browser(B).get(foreign)).statusCode, 200)
    await refused(t, server, () => server.browser(B).get(own), { status: 403, code: 'SUBJECT_MISMATCH', event: 'elicitation.subject_mismatch' })
    for (const [user, link] of [[A, own], [B, foreign]] as const) await server.browser(user).press(link, '/decline')
    for (const user of [A, B]) await server.browser(user).press('/connect', '/acme/connect')      // with second thoughts: asked again
  }
})
