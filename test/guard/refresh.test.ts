import t, { type Test } from 'tap'
import type { Acme } from '../../examples/demo/acme.js'
import { UrlElicitationRequiredError } from '@modelcontextprotocol/sdk/types.js'
import { authorizationUrl } from '../fixtures/browser.js'
import { advance } from '../fixtures/clock.js'
import type { McpSession } from '../fixtures/mcp-session.js'
import { json, startScriptedProvider, type Answer, type ScriptedProvider } from '../fixtures/scripted-provider.js'
import { A, startServer, type TestServer } from '../fixtures/server.js'
import { watch } from '../fixtures/watch.js'

// What users and clients notice of a refresh.

const HOUR_MS = 3600_000

interface Connected {
  readonly server: TestServer
  readonly scripted: ScriptedProvider
  readonly session: McpSession
  /** What the tool answers: its text, `link`, or an error's text. */
  call (): Promise<string>
  connect (): Promise<void>
  /** How often the provider was asked by a refresh token. */
  refreshes (): number
  told (): string[]
}

async function startConnected (t: Test, answer?: Answer): Promise<Connected> {
  const scripted = await startScriptedProvider(t, watch(t).secrets)
  const at = {
    issuer: scripted.issuer, apiOrigin: scripted.issuer, clientId: 'acme', clientSecret: scripted.clientSecrets.acme, get tokenRequests () { return scripted.tokenRequests }
  } as Acme
  const server = await startServer(t, { at })
  if (answer !== undefined) scripted.script = { answer }
  const connect = async (): Promise<void> => {
    const { url } = await server.elicit(A)
    const browser = server.browser(A)
    const callback = await scripted.authorize(authorizationUrl(await browser.press(url, '/start')))
    t.equal((await browser.get(callback.href)).statusCode, 303)
  }
  await connect()
  const session = await server.openSession({ user: A })
  return {
    server,
    scripted,
    session,
    connect,
    call: async () => await session.client.callTool({ name: 'issues' }).then(
      ({ content, isError }) => `${isError === true ? 'error: ' : ''}${(content as Array<{ text: string }>)[0]!.text}`,
      error => error instanceof UrlElicitationRequiredError ? 'link' : `rejected: ${error.message}`),
    refreshes: () => scripted.requests.filter(({ path, body }) => path === '/token' && body.includes('refresh_token=')).length,
    told: () => server.audit.map(({ event }) => event).filter(event => event.startsWith('refresh.') || event === 'guard.blocked')
  }
}

const WORKS = '["the one issue"]'

t.test('REC-08 a thousand calls at once on an expired token: one refresh, and all succeed', async t => {
  const { call, refreshes, told } = await startConnected(t)
  advance(t, HOUR_MS)
  const outcomes = await Promise.all(Array.from({ length: 1000 }, () => call()))
  t.strictSame([...new Set(outcomes)], [WORKS])
  t.equal(refreshes(), 1)
  t.strictSame(told(), ['refresh.ok'])
})

t.test('OAR-18 without a refresh token, the user is asked again once the access token has expired', async t => {
  const { call, connect, refreshes } = await startConnected(t, ({ response, good: { refresh_token: _, ...others } }) => json(response, { ...others, expires_in: 3600 }))
  t.equal(await call(), WORKS)
  advance(t, HOUR_MS)
  t.equal(await call(), 'link')
  await connect()
  t.equal(await call(), WORKS)
  t.equal(refreshes(), 0)
})

t.test('OAR-21 REC-09 a grant that the provider has ended: the log says why, the user is asked, and the provider no more', async t => {
  const { server, scripted, call, connect, refreshes, told } = await startConnected(t)
  advance(t, HOUR_MS)
  scripted.script = { refresh: ({ response, description }) => json(response, { error: 'invalid_grant', error_description: description }, 400) }
  for (let i = 0; i < 3; i++) t.equal(await call(), 'link')
  t.equal(refreshes(), 1)
  t.strictSame(told(), ['refresh.invalid_grant'])
  t.match(server.log.find(line => line.includes('refresh.invalid_grant')), '"level":40')
  scripted.script = {}
  await connect()
  t.equal(await call(), WORKS)
})

t.test('OAR-22 a provider in trouble: a text that says when to try again, no link, and the vault is as it was', async t => {
  const { server, scripted, call, refreshes, told } = await startConnected(t)
  advance(t, HOUR_MS)
  const before = await server.vaultRows()
  scripted.script = { refresh: ({ response, description }) => json(response.setHeader('retry-after', '90'), { error: description }, 503) }
  for (let i = 0; i < 3; i++) {
    t.match(await call(), /^error: Acme cannot be reached just now to renew the access\. The user remains connected and need not do anything\. Try again in \d\d seconds\.$/)
  }
  t.equal(refreshes(), 1)
  t.equal(await server.vaultRows(), before)
  t.strictSame(told(), ['refresh.failed', 'guard.blocked', 'guard.blocked', 'guard.blocked'])
  t.match(server.audit.filter(({ event }) => event === 'guard.blocked').map(event => 'reason' in event && event.reason), ['later', 'later', 'later'])
  scripted.script = {}
  advance(t, 91_000)
  t.equal(await call(), WORKS)
})

t.test('a registration that is not accepted is the operator\'s to mend: a text, no link, and one line in the log', async t => {
  const { server, scripted, call, refreshes } = await startConnected(t)
  advance(t, HOUR_MS)
  scripted.script = { refresh: ({ response, description }) => json(response, { error: 'invalid_client', error_description: description }, 401) }
  for (let i = 0; i < 3; i++) {
    t.match(await call(), /^error: Acme does not accept this server just now\. The user remains connected and cannot mend it;/)
    advance(t, 61_000)
  }
  t.equal(refreshes(), 3)
  t.equal(server.log.filter(line => line.includes('"level":50')).length, 1)
  scripted.script = {}
  t.equal(await call(), WORKS)
})
