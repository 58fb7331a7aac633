import t from 'tap'
import { findForm, title } from '../fixtures/browser.js'
import { advance } from '../fixtures/clock.js'
import { pause } from '../fixtures/pause.js'
import { refused } from '../fixtures/refused.js'
import { A, startServer } from '../fixtures/server.js'

t.test('a decline is void once the user begins on the connections page, or has connected by another client\'s link', async t => {
  const server = await startServer(t)
  const { url, session } = await server.elicit(A)
  const browser = server.browser(A)
  await browser.press(url, '/decline')
  t.match(await session.client.callTool({ name: 'issues' }), { isError: true, content: [{ text: /declined/ }] })
  await browser.press('/connect', '/acme/connect')
  const second = await server.elicit(A)
  t.not(second.url, url, 'asked again')

  await browser.press(second.url, '/decline')
  t.match(await session.client.callTool({ name: 'issues' }), { isError: true, content: [{ text: /declined/ }] })
  const other = await server.elicit(A, { clientId: 'client-2' })
  await browser.get((await server.untilCallback(browser, other.url)).href)
  t.notMatch(await session.client.callTool({ name: 'issues' }), { isError: true })
  await browser.press('/connect', '/acme/disconnect')
  await t.rejects(session.client.callTool({ name: 'issues' }), { code: -32042 })
})

t.test('an older link declined: the sessions that hold a newer one of that client are told, and nobody is asked at once', async t => {
  const server = await startServer(t)
  const first = await server.elicit(A)
  advance(t, 12 * 60_000)
  const second = await server.elicit(A)
  t.not(second.id, first.id)
  const browser = server.browser(A)
  await browser.press(first.url, '/decline')
  await second.session.client.ping()
  t.strictSame(second.session.completed, [second.id])
  t.match(await second.session.client.callTool({ name: 'issues' }), { isError: true, content: [{ text: /declined/ }] })
  await browser.press('/connect', '/acme/connect')
  const anew = await second.session.client.callTool({ name: 'issues' }).catch(error => error)
  t.not(anew.elicitations[0].elicitationId, second.id, 'what was said to be over is not handed out again')
})

t.test('a decline on the connections page\'s own link changes no client\'s link, and is not remembered', async t => {
  const server = await startServer(t)
  const { id, session } = await server.elicit(A)
  const keys: string[] = []
  const { put } = server.store.state
  t.intercept(server.store.state, 'put', { value: async (...args: Parameters<typeof put>) => { keys.push(args[0]); return await put(...args) } })
  const browser = server.browser(A)
  await browser.press(String((await browser.press('/connect', '/acme/connect')).headers.location), '/decline')
  const again = await session.client.callTool({ name: 'issues' }).catch(error => error)
  t.equal(again.elicitations[0].elicitationId, id)
  t.strictSame(session.completed, [])
  t.ok(keys.some(key => key.startsWith('elicitation:')))
  t.notOk(keys.some(key => key.startsWith('decline:')), 'nobody asks there')
})

t.test('a decline is told though the store fails after it', async t => {
  const server = await startServer(t)
  const { url, session } = await server.elicit(A)
  const browser = server.browser(A)
  const { action, fields } = findForm(await browser.get(url), '/decline')
  const { get } = server.store.state
  const { reached, resume } = pause(t, server.store.state, 'put', { when: key => key.startsWith('decline:') })
  const answer = browser.post(action, fields)
  await reached
  t.intercept(server.store.state, 'get', {
    value: async (key: string) => {
      if (key.startsWith('elicitation-generation')) throw new Error('down')
      return await get(key)
    }
  })
  resume()
  t.equal((await answer).statusCode, 303)
  await session.client.ping()
  t.equal(session.completed.length, 1)
})

t.test('a decline that cannot be remembered is made all the same, and told', async t => {
  const server = await startServer(t)
  const { url, session } = await server.elicit(A)
  const { put } = server.store.state
  t.intercept(server.store.state, 'put', {
    value: async (...args: Parameters<typeof put>) => {
      if (args[0].startsWith('decline:')) throw new Error('down')
      return await put(...args)
    }
  })
  const browser = server.browser(A)
  const { action, fields } = findForm(await browser.get(url), '/decline')
  await refused(t, server, () => browser.post(action, fields), {
    status: 503, code: 'ADAPTER_FAILED', event: 'request.failed', before: ['elicitation.declined'], moved: true, completions: 1
  })
  t.equal(session.completed.length, 1)
  t.equal(title(await browser.get(url)), 'This is finished')
})
