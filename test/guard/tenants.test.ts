import { createHash, randomBytes } from 'node:crypto'
import t from 'tap'
import { memoryStore } from '../../lib/index.js'
import { A, A2, A3, B, startServer } from '../fixtures/server.js'

t.test('TEN-01 the same subject in another tenant, or at another issuer, is not connected', async t => {
  const server = await startServer(t)
  const { url, session } = await server.elicit(A)
  const browser = server.browser(A)
  await browser.get((await server.untilCallback(browser, url)).href)
  t.match(await session.client.callTool({ name: 'issues' }), { content: [{ text: /rabbit hole/ }] })
  for (const other of [A2, A3, B]) {
    await t.rejects((await server.openSession({ user: other })).client.callTool({ name: 'issues' }), { code: -32042 })
    t.notMatch((await server.browser(other).get('/connect')).body, 'Disconnect')
  }
})

t.test('TEN-03 calls of two tenants interleaved a thousand times never share a token', async t => {
  const server = await startServer(t)
  const sessions = await Promise.all([A, A2].map(async user => {
    const { url, session } = await server.elicit(user)
    const browser = server.browser(user)
    t.equal((await browser.get((await server.untilCallback(browser, url)).href)).statusCode, 303)
    return session
  }))
  // The API answers with what tells the token that it was sent from others.
  const told = (header: string | null): string => `${header?.split(' ')[0]} ${createHash('sha256').update(String(header)).digest('hex')}`
  t.intercept(globalThis, 'fetch', { value: async (request: Request) => new Response(told(request.headers.get('authorization'))) })
  const call = async (i: number): Promise<string> => {
    const { content } = await sessions[i % 2]!.client.callTool({ name: 'issues' })
    return (content as [{ text: string }])[0].text
  }
  const tokens = [await call(0), await call(1)]
  t.match(tokens, [/^Bearer ./, /^Bearer ./])
  t.not(tokens[0], tokens[1])
  t.strictSame(await Promise.all(Array.from({ length: 1000 }, (_, i) => call(i))), Array.from({ length: 1000 }, (_, i) => tokens[i % 2]))
})

t.test('T06 what another issuer has granted is no connection to this provider', async t => {
  const [store, keys] = [memoryStore(), [randomBytes(32).toString('base64')]]
  const before = await startServer(t, { store, keys })
  const { url } = await before.elicit(A)
  const browser = before.browser(A)
  await browser.get((await before.untilCallback(browser, url)).href)
  const after = await startServer(t, { store, keys })
  t.match(await after.elicit(A), { id: /^[\w-]{43}$/ }, 'the tool asks')
  t.match((await after.browser(A).get('/connect')).body, 'this server has changed where it asks for access')
})
