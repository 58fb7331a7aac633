import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { defineProvider } from '../../lib/index.js'
import { authorizationUrl, type TestBrowser } from '../fixtures/browser.js'
import { linkIn, openHttpSession, readMessage } from '../fixtures/http-session.js'
import { addEndpoint } from '../fixtures/own-endpoint.js'
import { FAULTS, json, startScriptedProvider, type ScriptedProvider } from '../fixtures/scripted-provider.js'
import { Secrets } from '../fixtures/secrets.js'
import { A, startServer } from '../fixtures/server.js'

interface Wire {
  readonly secrets: Secrets
  readonly scripted: ScriptedProvider
  readonly browser: TestBrowser
  /** Calls a tool. @returns the body of the answer, byte for byte */
  call (tool: string): Promise<string>
  /** Goes from the link to the redirection endpoint. @returns the status there */
  connect (page: string): Promise<number>
}

/** Handlers by the names of their tools; the first argument is the text of the API's answer. */
type Tools = Readonly<Record<string, (body: string, status: number) => string>>

/** A server whose answers to an MCP client are looked at as they come over the wire. */
async function start (t: Test, tools: Tools): Promise<Wire> {
  const secrets = new Secrets()
  const scripted = await startScriptedProvider(t, secrets)
  const { app, browser } = await startServer(t, {
    limits: { principal: false },
    acme: { issuer: scripted.issuer, clientId: 'acme', clientSecret: scripted.clientSecrets.acme, scopes: ['openid', 'issues:read'], apiOrigins: [scripted.issuer] }
  })
  const bearer = randomBytes(32).toString('base64url')
  secrets.add('MCP access token', bearer)
  addEndpoint(app, () => {
    const server = new McpServer({ name: 'test', version: '1.0.0' })
    const { requireConnection } = app.mcpConnect.for(server)
    for (const [name, handler] of Object.entries(tools)) {
      server.registerTool(name, {}, requireConnection('acme', async connection => {
        const response = await connection.fetch(`${scripted.issuer}/api/issues`)
        return { content: [{ type: 'text', text: handler(await response.text(), response.status) }] }
      }))
    }
    return server
  }, async token => ({ token, clientId: 'client', scopes: [], extra: { iss: A.issuer, sub: A.subject, tid: A.tenant } }))
  await app.listen({ host: '127.0.0.1', port: 0 })
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}/mcp`

  const { ask } = await openHttpSession(url, bearer)
  const own = browser(A)
  return {
    secrets,
    scripted,
    browser: own,
    call: async name => await ask({ id: 1, method: 'tools/call', params: { name } }),
    connect: async page => (await own.get((await scripted.authorize(authorizationUrl(await own.press(page, '/start')))).href)).statusCode
  }
}

t.test('LOG-09 the guard\'s error: mode, url, elicitationId and message, and nothing else', async t => {
  const { call, secrets } = await start(t, { issues: body => body })
  const body = await call('issues')
  const { error } = readMessage(body)
  t.match(error, { code: -32042, message: 'Connect Acme. The user can do so in a browser at https://mcp.example.com/connect and should then call this again.' })
  t.strictSame(Object.keys(error!).sort(), ['code', 'data', 'message'])
  t.strictSame(Object.keys(error!.data as object), ['elicitations'])
  const { elicitations } = error!.data as { elicitations: Array<Record<string, string>> }
  t.equal(elicitations.length, 1)
  t.strictSame(Object.keys(elicitations[0]!).sort(), ['elicitationId', 'message', 'mode', 'url'])
  t.match(elicitations[0], { mode: 'url', message: 'Connect Acme.', url: `https://mcp.example.com/connect/${elicitations[0]!['elicitationId']}` })
  t.strictSame(secrets.find(body), [])
  t.notMatch(body, /"a"|T1|login\.example\.com|127\.0\.0\.1/, 'nobody is named')
})

t.test('LOG-09 what a handler throws or returns is sent, and nothing of ours', async t => {
  const planted = randomBytes(32).toString('base64url')
  const { call, connect, secrets, scripted } = await start(t, {
    good: body => body,
    throws: body => { throw Object.assign(new Error(`the tool says ${planted}`, { cause: new Error(body) }), { body }) },
    unauthorized: (body, status) => `${status} ${body}`
  })
  secrets.add('planted', planted)
  t.equal(await connect(linkIn(await call('good'))), 303)
  const good = await call('good')
  t.strictSame(readMessage(good), { result: { content: [{ type: 'text', text: '["the one issue"]' }] }, jsonrpc: '2.0', id: 1 })
  t.strictSame(secrets.find(good), [])
  const thrown = await call('throws')
  t.strictSame(readMessage(thrown).result, { content: [{ type: 'text', text: `the tool says ${planted}` }], isError: true })
  t.strictSame(secrets.find(thrown), ['planted (plain)'])

  scripted.answers.set('/api/issues', (_request, response) => json(response, { error: 'invalid_token', error_description: scripted.description }, 401))
  const unauthorized = await call('unauthorized')
  t.strictSame(readMessage(unauthorized).result, { content: [{ type: 'text', text: `401 ${JSON.stringify({ error: 'invalid_token', error_description: scripted.description })}` }] })
  t.strictSame(secrets.find(unauthorized), ['error_description (plain)'], 'a body that the handler returns is the handler\'s to return')
  scripted.answers.set('/api/issues', request => { request.socket.destroy() })
  const broken = await call('good')
  t.match(readMessage(broken).result, { content: [{ text: 'fetch failed' }], isError: true }, 'what fetch throws')
  t.strictSame(secrets.find(broken), [])
})

t.test('LOG-09 what a provider sends stands in no text of ours', async t => {
  const { call, connect, secrets, scripted, browser } = await start(t, { issues: body => body })
  const url = linkIn(await call('issues'))
  const texts: string[] = []
  for (const [title, answer] of Object.entries(FAULTS)) {
    scripted.script = { answer }
    t.equal(await connect(url), 502, title)
    texts.push(await call('issues'))
    t.equal(linkIn(texts.at(-1)!), url, 'the same link')
  }

  scripted.script = { answer: ({ response, good, description }) => json(response, { ...good, scope: description }) }
  t.equal(await connect(url), 303)
  texts.push(await call('issues'))
  t.match(readMessage(texts.at(-1)!).result, { isError: true, content: [{ text: /^Acme did not grant all the permissions that this needs \(missing: issues:read\)/ }] })

  await browser.press('/connect', '/acme/disconnect')
  scripted.script = { redirect: url => { url.search = new URLSearchParams({ error: 'access_denied', error_description: scripted.description, state: url.searchParams.get('state')!, iss: scripted.issuer }).toString() } }
  t.equal(await connect(linkIn(await call('issues'))), 303)
  texts.push(await call('issues'))
  t.match(readMessage(texts.at(-1)!).result, { isError: true, content: [{ text: /^Connecting Acme was declined\./ }] })
  t.strictSame(secrets.find(texts.join('\n')), [])
})

t.test('INP-02 names and reasons are text; no address stands anywhere but in url, beside that of the connections page', async t => {
  const server = await startServer(t, { acme: { name: '<b>Acme</b>' } })
  const { session } = await server.elicit(A, { reason: 'to [list](//attacker.example) <b>your</b> **issues** & more' })
  const { error } = session.wire.at(-1) as { error: { message: string, data: { elicitations: Array<Record<string, string>> } } }
  const text = 'Connect <b>Acme</b> to [list](//attacker.example) <b>your</b> **issues** & more.'
  const [{ url, ...others }] = error.data.elicitations as [Record<string, string>]
  t.match(others, { message: text })
  t.equal(error.message, `${text} The user can do so in a browser at https://mcp.example.com/connect and should then call this again.`)
  t.match(url, /^https:\/\/mcp\.example\.com\/connect\/[\w-]{43}$/)
  t.notMatch(JSON.stringify(others), '://')

  for (const address of ['https://attacker.example', '[here](https://attacker.example)', 'javascript://%0aalert(1)']) {
    t.throws(() => server.app.mcpConnect.for(new McpServer({ name: 'test', version: '1.0.0' })).requireConnection('acme', { reason: `to see ${address}` }, () => ({ content: [] })),
      { code: 'FST_MCP_CONNECT_GUARD_OPTIONS', message: /must not hold a URL/ }, address)
    t.throws(() => defineProvider({ name: `Acme ${address}`, issuer: 'https://acme.example', clientId: 'id', apiOrigins: ['https://api.acme.example'] }),
      { code: 'FST_MCP_CONNECT_OPTIONS', message: /must not hold a URL/ }, address)
  }
})
