import { randomBytes } from 'node:crypto'
import t from 'tap'
import undici from 'undici'
import { memoryStore } from '../../lib/index.js'
import { findForm, title } from '../fixtures/browser.js'
import { advance } from '../fixtures/clock.js'
import { pause, pauseTokenAnswer } from '../fixtures/pause.js'
import { refused, type Refusal } from '../fixtures/refused.js'
import { A, startServer } from '../fixtures/server.js'

const HELD: Refusal = { status: 409, code: 'HELD' }
const REPLAY: Refusal = { status: 409, code: 'CONSUMED', event: 'callback.replay' }

t.test('a decline in another tab while the answer is being processed: told that it is finished, and it is', async t => {
  const server = await startServer(t)
  const { url, session } = await server.elicit(A)
  const browser = server.browser(A)
  const decline = findForm(await browser.get(url), '/decline')
  const callback = await server.untilCallback(browser, url)
  const { reached, resume } = pause(t, server.store.vault, 'put')
  const answer = browser.get(callback.href)
  await reached
  const held = await refused(t, server, () => browser.post(decline.action, decline.fields), HELD)
  t.equal(title(held), 'This is being finished')
  t.match(held.body, `href="${url}/done">Look again`)
  t.strictSame(session.completed, [], 'nobody is told before it is finished')
  resume()
  t.equal((await answer).statusCode, 303)
  t.equal(title(await browser.get(`${url}/done`)), 'Acme is connected')
})

t.test('two flows of one link: one of them reaches the token endpoint', async t => {
  const server = await startServer(t)
  const { url, session } = await server.elicit(A)
  const browser = server.browser(A)
  const [first, second] = [await server.untilCallback(browser, url), await server.untilCallback(browser, url)]
  const { reached, resume } = pause(t, server.store.vault, 'put')
  const answer = browser.get(first.href)
  await reached
  t.equal(title(await refused(t, server, () => browser.get(second.href), HELD)), 'This is being finished')
  resume()
  t.equal((await answer).statusCode, 303)
  await refused(t, server, () => browser.get(second.href), REPLAY)
  t.equal(server.acme.tokenRequests, 1)
  t.equal(session.completed.length, 1)
})

t.test('the grant cannot be stored: a page, and the link still works', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  const callback = await server.untilCallback(browser, url)
  const { put } = server.store.vault
  let broken = true
  t.intercept(server.store.vault, 'put', {
    value: async (...args: Parameters<typeof put>) => {
      if (broken) throw Object.assign(new Error('disk full'), { statusCode: 403 })      // of the vault's server, and none of ours
      return await put(...args)
    }
  })
  const answer = await refused(t, server, () => browser.get(callback.href), {
    status: 503, code: 'ADAPTER_FAILED', event: 'request.failed', before: ['exchange.started', 'revocation.done', 'exchange.orphan_possible'], tokenCalls: 1, moved: true
  })
  t.match(answer.body, `href="${url}">Start again`)
  t.match(server.log.join(''), 'disk full')
  broken = false
  t.equal((await browser.get((await server.untilCallback(browser, url)).href)).statusCode, 303)
})

t.test('nothing works any more: the log still says what was first', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  const callback = await server.untilCallback(browser, url)
  const { vault, state } = server.store
  const { put } = state
  let down = false
  t.intercept(vault, 'put', { value: async () => { down = true; throw new Error('disk full') } })
  t.intercept(state, 'put', {
    value: async (...args: Parameters<typeof put>) => {
      if (down) throw new Error('down')
      return await put(...args)
    }
  })
  t.equal((await browser.get(callback.href)).statusCode, 503)
  t.match(server.log.join(''), 'disk full')
})

t.test('a store that fails after the grant was stored: the user stays connected, and those who wait are told', async t => {
  for (const failing of ['flow-generation', 'elicitation-generation'] as const) {
    const server = await startServer(t)
    const { url, session } = await server.elicit(A)
    const browser = server.browser(A)
    const callback = await server.untilCallback(browser, url)
    const { vault, state } = server.store
    const { put } = vault
    const { get } = state
    let stored = false
    t.intercept(vault, 'put', { value: async (...args: Parameters<typeof put>) => { stored = true; return await put(...args) } })
    t.intercept(state, 'get', {
      value: async (key: string) => {
        if (stored && key.startsWith(failing)) throw new Error('down')
        return await get(key)
      }
    })
    t.equal((await browser.get(callback.href)).statusCode, failing === 'flow-generation' ? 503 : 303)
    t.not(await server.vaultRows(), '[]', failing)
    await session.client.ping()
    t.equal(session.completed.length, 1, failing)
    t.match(await session.client.callTool({ name: 'issues' }), { content: [{ text: /rabbit hole/ }] })
  }
})

t.test('STA-02 a second answer with the same state, past all looks when the first one fails: no second token request', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  const callback = await server.untilCallback(browser, url)
  let looks = 0
  // The first look is for the owner, the second for the hold.
  const { reached, resume } = pause(t, server.store.state, 'get', { when: key => key.startsWith('elicitation:') && ++looks === 2 })
  const late = browser.get(callback.href)
  await reached
  const { fetch } = undici
  let posts = 0
  t.intercept(undici, 'fetch', {
    value: async (...args: Parameters<typeof fetch>) => args[1]?.method === 'POST' && ++posts > 0 ? new Response('{}', { status: 400 }) : await fetch(...args)
  })
  t.equal((await browser.get(callback.href)).statusCode, 502)
  resume()
  t.equal((await late).statusCode, 409)
  t.equal(posts, 1)
})

t.test('a process that dies while it finishes a link: told so, and the next flow works by itself half a minute later', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  const [first, second] = [await server.untilCallback(browser, url), await server.untilCallback(browser, url)]
  const { reached } = pause(t, server.store.vault, 'put') // never opened: nothing comes back from there
  const lost = browser.get(first.href)
  lost.catch(() => {})
  await reached
  await refused(t, server, () => browser.get(second.href), HELD)
  advance(t, 31_000)
  t.equal((await browser.get(second.href)).statusCode, 303, 'and the flow was not spent by trying too early')
})

t.test('a flow that took longer than its hold does not replace what was connected meanwhile', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  const [slow, quick] = [await server.untilCallback(browser, url), await server.untilCallback(browser, url)]
  const { reached, resume } = pauseTokenAnswer(t)
  const answer = browser.get(slow.href)
  await reached
  advance(t, 31_000)
  t.equal((await browser.get(quick.href)).statusCode, 303)
  const rows = await server.vaultRows()
  resume()
  t.equal(title(await answer), 'This is finished')
  t.equal(await server.vaultRows(), rows)
})

t.test('nor does one whose vault took that long', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  const [slow, quick] = [await server.untilCallback(browser, url), await server.untilCallback(browser, url)]
  const { reached, resume } = pause(t, server.store.vault, 'put')
  const answer = browser.get(slow.href)
  await reached
  advance(t, 31_000)
  t.equal((await browser.get(quick.href)).statusCode, 303)
  const rows = await server.vaultRows()
  resume()
  t.equal(title(await answer), 'This is finished')
  t.equal(await server.vaultRows(), rows)
})

t.test('declined while the vault took longer than the hold: not connected', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  const callback = await server.untilCallback(browser, url)
  const decline = findForm(await browser.get(url), '/decline')
  const { reached, resume } = pause(t, server.store.vault, 'put')
  const answer = browser.get(callback.href)
  await reached
  advance(t, 31_000)
  t.equal((await browser.post(decline.action, decline.fields)).statusCode, 303)
  resume()
  t.equal(title(await answer), 'This is finished')
  t.equal(await server.vaultRows(), '[]')
})

t.test('T06 A26-01 a provider that was configured anew between start and callback gets no code of the old one', async t => {
  const store = memoryStore()
  const keys = [randomBytes(32).toString('base64')]
  const before = await startServer(t, { store, keys })
  const { url } = await before.elicit(A)
  const browser = before.browser(A)
  const callback = await before.untilCallback(browser, url)
  const { issuer, clientId } = before.acme
  for (const change of [{}, { acme: { clientId } }, { acme: { issuer, clientId: 'another' } }, { acme: { issuer, clientId }, baseUrl: 'https://moved.example.com' }]) {
    const after = await startServer(t, { store, keys, ...change })
    const same = after.browser(A)
    for (const [name, value] of browser.cookies) same.cookies.set(name, value)
    // Found by what the flow remembers: a provider that names no iss is refused too.
    await refused(t, after, () => same.get(callback.href), { status: 400, code: 'CONTEXT_MISMATCH', event: 'callback.context_mismatch' })
    t.equal(before.acme.tokenRequests, 0)
  }
  t.equal((await browser.get(callback.href)).statusCode, 303)

  const moved = await startServer(t, { store, keys })
  const user = moved.browser(A)
  t.match((await user.get('/connect')).body, /this server has changed where it asks for access.*Disconnect Acme/s)
  const location = String((await user.press('/connect', '/acme/connect')).headers.location)
  t.match((await user.get(location)).body, 'issues:read')
  await user.press('/connect', '/acme/disconnect')
  t.equal(await moved.vaultRows(), '[]', 'the old grant can be deleted')
})
