import t from 'tap'
import { findForm, title } from '../fixtures/browser.js'
import { pause, pauseTokenAnswer } from '../fixtures/pause.js'
import { refused, type Refusal } from '../fixtures/refused.js'
import { A, startServer } from '../fixtures/server.js'

const DISCONNECTED: Refusal = { status: 409, code: 'DISCONNECTED' }

t.test('what was disconnected does not come back by a flow that was under way', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  await browser.get((await server.untilCallback(browser, url)).href)
  const again = String((await browser.press('/connect', '/acme/connect')).headers.location)
  const [early, late] = [await server.untilCallback(browser, again), await server.untilCallback(browser, again)]
  const disconnect = findForm(await browser.get('/connect'), '/acme/disconnect')
  await browser.post(disconnect.action, disconnect.fields)
  t.equal(await server.vaultRows(), '[]')
  for (const callback of [early, late]) t.equal(title(await refused(t, server, () => browser.get(callback.href), DISCONNECTED)), 'You have disconnected this')
  t.equal((await browser.get((await server.untilCallback(browser, again)).href)).statusCode, 303, 'a new one works')
})

t.test('a disconnect in the moment in which the grant is stored', async t => {
  const server = await startServer(t)
  const { url, session } = await server.elicit(A)
  const browser = server.browser(A)
  await browser.get((await server.untilCallback(browser, url)).href)
  const again = String((await browser.press('/connect', '/acme/connect')).headers.location)
  const callback = await server.untilCallback(browser, again)
  const { reached, resume } = pause(t, server.store.vault, 'put')
  const answer = browser.get(callback.href)
  await reached
  await browser.press('/connect', '/acme/disconnect')
  resume()
  t.equal(title(await answer), 'You have disconnected this')
  t.equal(await server.vaultRows(), '[]')
  t.match(server.log.join(''), /"level":40.*orphan_possible/, 'the operator can tell that the provider may still list the grant')
  await t.rejects(session.client.callTool({ name: 'issues' }), { code: -32042 })
})

t.test('a disconnect marks first and removes then: who finishes in between is told so', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  await browser.get((await server.untilCallback(browser, url)).href)
  const again = String((await browser.press('/connect', '/acme/connect')).headers.location)
  const callback = await server.untilCallback(browser, again)
  const disconnect = findForm(await browser.get('/connect'), '/acme/disconnect')
  const { delete: remove } = server.store.vault
  let between = ''
  t.intercept(server.store.vault, 'delete', {
    value: async (...args: Parameters<typeof remove>) => {
      const removed = await remove(...args)
      between ||= title(await browser.get(callback.href))
      return removed
    }
  })
  t.equal((await browser.post(disconnect.action, disconnect.fields)).statusCode, 303)
  t.equal(between, 'You have disconnected this')
  t.equal(await server.vaultRows(), '[]')
})

t.test('what is taken back after a disconnect is the late grant, and not one that was made since', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  const callback = await server.untilCallback(browser, url)
  const { put } = server.store.vault
  let rows = ''
  t.intercept(server.store.vault, 'put', {
    value: async (...args: Parameters<typeof put>) => {
      const revision = await put(...args)
      if (rows === '') {
        rows = 'being made'
        await browser.press('/connect', '/acme/disconnect')
        const again = String((await browser.press('/connect', '/acme/connect')).headers.location)
        t.equal((await browser.get((await server.untilCallback(browser, again)).href)).statusCode, 303)
        rows = await server.vaultRows()
      }
      return revision
    }
  })
  t.equal(title(await browser.get(callback.href)), 'You have disconnected this')
  t.equal(await server.vaultRows(), rows)
})

t.test('a disconnect while the provider takes its time: what was connected since is kept', async t => {
  const server = await startServer(t)
  const { url, session } = await server.elicit(A)
  const browser = server.browser(A)
  const slow = await server.untilCallback(browser, url)
  const { reached, resume } = pauseTokenAnswer(t)
  const answer = browser.get(slow.href)
  await reached
  const { action, fields } = findForm(await browser.get('/connect'), '/acme/connect')
  const location = String((await browser.post(action, fields)).headers.location)
  await browser.get((await server.untilCallback(browser, location)).href)
  await browser.press('/connect', '/acme/disconnect')
  const anew = String((await browser.press('/connect', '/acme/connect')).headers.location)
  t.equal((await browser.get((await server.untilCallback(browser, anew)).href)).statusCode, 303)
  const rows = await server.vaultRows()
  resume()
  t.equal(title(await answer), 'You have disconnected this')
  t.equal(await server.vaultRows(), rows)
  t.match(await session.client.callTool({ name: 'issues' }), { content: [{ text: /rabbit hole/ }] })
})

t.test('a disconnect while the grant is stored, and a store that fails right after: it stays disconnected', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  await browser.get((await server.untilCallback(browser, url)).href)
  const { action, fields } = findForm(await browser.get('/connect'), '/acme/disconnect')
  await browser.post(action, fields)
  const again = String((await browser.press('/connect', '/acme/connect')).headers.location)
  const callback = await server.untilCallback(browser, again)
  const { reached, resume } = pause(t, server.store.vault, 'put')
  const answer = browser.get(callback.href)
  await reached
  await browser.post(action, fields) // nothing is there yet: only the mark is made
  const { put } = server.store.state
  t.intercept(server.store.state, 'put', {
    value: async (...args: Parameters<typeof put>) => {
      if (args[0].startsWith('elicitation-generation:')) throw new Error('down')
      return await put(...args)
    }
  })
  resume()
  t.equal(title(await answer), 'You have disconnected this')
  t.equal(await server.vaultRows(), '[]')
})
