import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import t from 'tap'
import { openMcpSession } from '../fixtures/mcp-session.js'
import { pause } from '../fixtures/pause.js'
import { A, startServer } from '../fixtures/server.js'

t.test('a link that ends in the moment in which it is handed out is not handed out: the call is decided anew', async t => {
  for (const [decision, expected] of [['allow', { content: [{ text: /rabbit hole/ }] }], ['deny', { isError: true, content: [{ text: /declined/ }] }]] as const) {
    const server = await startServer(t)
    const { url } = await server.elicit(A)
    const browser = server.browser(A)
    const callback = await server.untilCallback(browser, url, decision)
    const late = await server.openSession({ user: A })
    const { createElicitationCompletionNotifier } = late.server.server
    let ending: Promise<unknown> | undefined
    let waited = false
    t.intercept(late.server.server, 'createElicitationCompletionNotifier', {
      value: (id: string) => {
        ending ??= browser.get(callback.href)
        return createElicitationCompletionNotifier.call(late.server.server, id)
      }
    })
    // The record is looked at once more before it is handed out; by then it has ended.
    const { get } = server.store.state
    t.intercept(server.store.state, 'get', {
      value: async (key: string) => {
        const stored = await get(key)
        if (ending === undefined || waited) return stored
        waited = true
        await ending
        return await get(key)
      }
    })
    const result = await late.client.callTool({ name: 'issues' })
    t.match(result, expected)
  }
})

t.test('a link that is retired in the moment in which it is handed out is not handed out', async t => {
  const server = await startServer(t)
  const writer = await server.elicit(A, { clientId: 'client-2', scopes: ['issues:write'] })
  const reader = await server.elicit(A)
  const browser = server.browser(A)
  const callback = await server.untilCallback(browser, reader.url)
  const retiring = pause(t, server.store.state, 'put', { when: key => key.startsWith('elicitation-generation:') })
  const answer = browser.get(callback.href)
  await retiring.reached                          // connected, without the scope that the writer needs
  // The record has been read, and is not handed out yet.
  const looking = pause(t, server.store.state, 'get', { when: key => key.startsWith('elicitation:'), answered: true })
  const call = writer.session.client.callTool({ name: 'issues' }).catch(error => error)
  await looking.reached
  retiring.resume()
  t.equal((await answer).statusCode, 303)
  looking.resume()
  const { elicitations } = await call
  t.strictSame(writer.session.completed, [writer.id])
  t.not(elicitations[0].elicitationId, writer.id)
})

t.test('a call that looked before the user connected, and goes on after: it runs', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  const callback = await server.untilCallback(browser, url)
  const late = await server.openSession({ user: A, clientId: 'client-2' })
  const { get } = server.store.vault
  let first = true
  t.intercept(server.store.vault, 'get', {
    value: async (...args: Parameters<typeof get>) => {
      const found = await get(...args)
      if (!first) return found
      first = false
      t.equal((await browser.get(callback.href)).statusCode, 303)
      return found
    }
  })
  t.match(await late.client.callTool({ name: 'issues' }), { content: [{ text: /rabbit hole/ }] })
})

t.test('a call whose second look fails waits for nothing', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const late = await server.openSession({ user: A, clientId: 'client-2' })
  const { get } = server.store.vault
  let looks = 0
  t.intercept(server.store.vault, 'get', {
    value: async (...args: Parameters<typeof get>) => {
      if (++looks === 2) throw new Error('down')
      return await get(...args)
    }
  })
  t.match(await late.client.callTool({ name: 'issues' }), { isError: true, content: [{ text: /could not be looked up/ }] })
  const browser = server.browser(A)
  t.equal((await browser.get((await server.untilCallback(browser, url)).href)).statusCode, 303)
  await late.client.ping()
  t.strictSame(late.completed, [])
})

t.test('of several links, one that need not be waited for any longer is not handed out: the call is decided anew', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  const callback = await server.untilCallback(browser, url)
  const mcp = new McpServer({ name: 'test', version: '1.0.0' })
  const { requireConnection } = server.app.mcpConnect.for(mcp)
  mcp.registerTool('both', {}, requireConnection(['acme', 'other'], {}, () => ({ content: [] })))
  const session = await openMcpSession(mcp, { user: A, clientId: 'client-2' })
  t.teardown(() => session.close())
  const { get } = server.store.vault
  let looks = 0
  t.intercept(server.store.vault, 'get', {
    value: async (...args: Parameters<typeof get>) => {
      const found = await get(...args)
      if (++looks === 2) t.equal((await browser.get(callback.href)).statusCode, 303, 'acme is connected once it was found to be missing')
      return found
    }
  })
  const { elicitations } = await session.client.callTool({ name: 'both' }).catch(error => error)
  t.equal(elicitations.length, 1)
})
