import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { memoryStore } from '../../lib/index.js'
import { findForm, title } from '../fixtures/browser.js'
import { advance } from '../fixtures/clock.js'
import { A, startServer, type TestServer } from '../fixtures/server.js'

/** Stops the first write to the vault until it is let go: the time in which a token request has been answered, and nothing is stored. */
function gate (t: Test, { store }: TestServer): { reached: Promise<void>, open (): void } {
  let open = (): void => {}
  let arrive = (): void => {}
  const opened = new Promise<void>(resolve => { open = resolve })
  const reached = new Promise<void>(resolve => { arrive = resolve })
  const { put } = store.vault
  let first = true
  t.intercept(store.vault, 'put', {
    value: async (...args: Parameters<typeof put>) => {
      arrive()
      if (first) {
        first = false
        await opened
      }
      return await put(...args)
    }
  })
  return { reached, open }
}

/** Keeps back the first answer of the token endpoint until it is let go. */
function slowTokenAnswer (t: Test): { sent: Promise<void>, arrive (): void } {
  let arrive = (): void => {}
  let tell = (): void => {}
  const wait = new Promise<void>(resolve => { arrive = resolve })
  const sent = new Promise<void>(resolve => { tell = resolve })
  const { fetch } = globalThis
  let first = true
  t.intercept(globalThis, 'fetch', {
    value: async (...args: Parameters<typeof fetch>) => {
      const response = await fetch(...args)
      if (!first || args[1]?.method !== 'POST') return response
      first = false
      tell()
      await wait
      return response
    }
  })
  return { sent, arrive }
}

t.test('a decline in another tab while the answer is being processed: told that it is finished, and it is', async t => {
  const server = await startServer(t)
  const { url, session } = await server.elicit(A)
  const browser = server.browser(A)
  const decline = findForm(await browser.get(url), '/decline')
  const callback = await server.untilCallback(browser, url)
  const { reached, open } = gate(t, server)
  const answer = browser.get(callback.href)
  await reached
  const held = await browser.post(decline.action, decline.fields)
  t.equal(title(held), 'This is being finished')
  t.match(held.body, `href="${url}/done">Look again`)
  await session.client.ping()
  t.strictSame(session.completed, [], 'nobody is told before it is finished')
  open()
  t.equal((await answer).statusCode, 303)
  t.equal(title(await browser.get(`${url}/done`)), 'Acme is connected')
})

t.test('two flows of one link: one of them reaches the token endpoint', async t => {
  const server = await startServer(t)
  const { url, session } = await server.elicit(A)
  const browser = server.browser(A)
  const [first, second] = [await server.untilCallback(browser, url), await server.untilCallback(browser, url)]
  const { reached, open } = gate(t, server)
  const answer = browser.get(first.href)
  await reached
  t.equal(title(await browser.get(second.href)), 'This is being finished')
  open()
  t.equal((await answer).statusCode, 303)
  t.equal((await browser.get(second.href)).statusCode, 409)
  t.equal(server.acme.tokenRequests, 1)
  t.equal(session.completed.length, 1)
})

t.test('the grant cannot be stored: a page, and the link still works', async t => {
  const server = await startServer(t)
  const { url, session } = await server.elicit(A)
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
  const answer = await browser.get(callback.href)
  t.equal(answer.statusCode, 503)
  t.match(answer.body, `href="${url}">Start again`)
  t.match(server.log.join(''), 'disk full')
  t.strictSame(session.completed, [])
  broken = false
  t.equal((await browser.get((await server.untilCallback(browser, url)).href)).statusCode, 303)
})

t.test('what was added after the page was shown is not agreed to', async t => {
  const server = await startServer(t)
  const first = await server.elicit(A)
  const browser = server.browser(A)
  const shown = findForm(await browser.get(first.url), '/start')
  await server.elicit(A, { scopes: ['issues:write'], reason: 'to close issues' })
  const answer = await browser.post(shown.action, shown.fields)
  t.equal(answer.statusCode, 403)
  t.match(answer.body, `href="${first.url}">Start again`)
  const page = await browser.get(first.url)
  t.match(page.body, /to list your issues<br>to close issues.*issues:read.*issues:write/s)
  t.equal((await browser.press(first.url, '/start')).statusCode, 200)
})

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

t.test('two pages opened at once: the forms of both work', async t => {
  const server = await startServer(t)
  const [one, two] = [await server.elicit(A), await server.elicit(A, { clientId: 'client-2' })]
  const browser = server.browser(A)
  const forms = (await Promise.all([browser.get(one.url), browser.get(two.url)])).map(page => findForm(page, '/start'))
  for (const { action, fields } of forms) t.equal((await browser.post(action, fields)).statusCode, 200)
})

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

t.test('VLT-11 a key that was taken out: said to the operator, and the user can connect again', async t => {
  const store = memoryStore()
  const [oldKey, newKey] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')]
  const before = await startServer(t, { store, keys: [oldKey] })
  const { url } = await before.elicit(A)
  const browser = before.browser(A)
  await browser.get((await before.untilCallback(browser, url)).href)

  const rotated = await startServer(t, { at: before.acme, store, keys: [newKey, oldKey] })
  const works = await rotated.openSession({ user: A })
  t.match(await works.client.callTool({ name: 'issues' }), { content: [{ text: /rabbit hole/ }] }, 'an older key opens')

  const { entries } = await store.vault.list({ limit: 10 })
  const row = await store.vault.get(entries[0]!.owner, entries[0]!.name)
  const waiting = await before.elicit(A, { scopes: ['issues:write'] })
  const lost = await startServer(t, { at: before.acme, store, keys: [newKey] })
  t.equal((await lost.browser(A).get(waiting.url)).statusCode, 404, 'what was under way is gone')
  t.match(lost.log.join(''), /"level":40.*counts as not begun.*is not in the keys option/)
  const session = await lost.openSession({ user: A, scopes: ['issues:write'] })
  t.match(await session.client.callTool({ name: 'issues' }), { isError: true, content: [{ text: /cannot be read at the moment.*\/connect/ }] })
  t.match(lost.log.join(''), `its key (id ${row!.value.split('.')[1]}) is not in the keys option`)
  const page = await lost.browser(A).get('/connect')
  t.match(page.body, 'what is stored can no longer be read')
  t.strictSame(await store.vault.get(entries[0]!.owner, entries[0]!.name), row, 'the row is kept')

  const user = lost.browser(A)
  const { location } = (await user.press('/connect', '/acme/connect')).headers
  t.match((await user.get(String(location))).body, /issues:read.*issues:write/s, 'for what the tool needs')
  t.equal((await user.get((await lost.untilCallback(user, String(location))).href)).statusCode, 303)
  t.match(await session.client.callTool({ name: 'issues' }), { content: [{ text: /rabbit hole/ }] })
  await user.press('/connect', '/acme/disconnect')
  await t.rejects(session.client.callTool({ name: 'issues' }), { code: -32042 })
  t.equal(lost.log.filter(line => line.includes('counts as not begun')).length, 1, 'said once')
})

t.test('a process that dies while it finishes a link: told so, and the next flow works by itself half a minute later', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  const [first, second] = [await server.untilCallback(browser, url), await server.untilCallback(browser, url)]
  const { reached } = gate(t, server) // never opened: nothing comes back from there
  const lost = browser.get(first.href)
  lost.catch(() => {})
  await reached
  const early = await browser.get(second.href)
  t.equal(title(early), 'This is being finished')
  advance(t, 31_000)
  t.equal((await browser.get(second.href)).statusCode, 303, 'and the flow was not spent by trying too early')
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
    t.equal((await same.get(callback.href)).statusCode, 400)
    t.match(after.log.join(''), 'CONTEXT_MISMATCH', 'found by what the flow remembers: a provider that names no iss is refused too')
    t.equal(after.acme.tokenRequests + before.acme.tokenRequests, 0)
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

t.test('what was disconnected does not come back by a flow that was under way', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  await browser.get((await server.untilCallback(browser, url)).href)
  const again = String((await browser.press('/connect', '/acme/connect')).headers.location)
  const [early, late] = [await server.untilCallback(browser, again), await server.untilCallback(browser, again)]
  const disconnect = findForm(await browser.get('/connect'), '/acme/disconnect')
  const { tokenRequests } = server.acme
  await browser.post(disconnect.action, disconnect.fields)
  for (const callback of [early, late]) t.equal(title(await browser.get(callback.href)), 'You have disconnected this')
  t.equal(server.acme.tokenRequests, tokenRequests, 'no token request')
  t.equal(await server.vaultRows(), '[]')
  t.equal((await browser.get((await server.untilCallback(browser, again)).href)).statusCode, 303, 'a new one works')
})

t.test('a disconnect in the moment in which the grant is stored', async t => {
  const server = await startServer(t)
  const { url, session } = await server.elicit(A)
  const browser = server.browser(A)
  await browser.get((await server.untilCallback(browser, url)).href)
  const again = String((await browser.press('/connect', '/acme/connect')).headers.location)
  const callback = await server.untilCallback(browser, again)
  const { reached, open } = gate(t, server)
  const answer = browser.get(callback.href)
  await reached
  await browser.press('/connect', '/acme/disconnect')
  open()
  t.equal(title(await answer), 'You have disconnected this')
  t.equal(await server.vaultRows(), '[]')
  t.match(server.log.join(''), /"level":40.*DISCONNECTED/, 'the operator can tell that the provider may still list the grant')
  await t.rejects(session.client.callTool({ name: 'issues' }), { code: -32042 })
})

t.test('nor does one whose vault took that long', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  const [slow, quick] = [await server.untilCallback(browser, url), await server.untilCallback(browser, url)]
  const { reached, open } = gate(t, server)
  const answer = browser.get(slow.href)
  await reached
  advance(t, 31_000)
  t.equal((await browser.get(quick.href)).statusCode, 303)
  const rows = await server.vaultRows()
  open()
  t.equal(title(await answer), 'This is finished')
  t.equal(await server.vaultRows(), rows)
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
  const { get } = server.store.state
  let open = (): void => {}
  let arrive = (): void => {}
  const opened = new Promise<void>(resolve => { open = resolve })
  const reached = new Promise<void>(resolve => { arrive = resolve })
  let looks = 0
  t.intercept(server.store.state, 'get', {
    value: async (key: string) => {
      if (key.startsWith('elicitation:') && ++looks === 2) {      // the first look is for the owner, the second for the hold
        arrive()
        await opened
      }
      return await get(key)
    }
  })
  const late = browser.get(callback.href)
  await reached
  const { fetch } = globalThis
  let posts = 0
  t.intercept(globalThis, 'fetch', {
    value: async (...args: Parameters<typeof fetch>) => args[1]?.method === 'POST' && ++posts > 0 ? new Response('{}', { status: 400 }) : await fetch(...args)
  })
  t.equal((await browser.get(callback.href)).statusCode, 502)
  open()
  t.equal((await late).statusCode, 409)
  t.equal(posts, 1)
})

t.test('reasons that were added after the page was shown are not agreed to either', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  const shown = findForm(await browser.get(url), '/start')
  await server.elicit(A, { reason: 'to close issues' })
  t.equal((await browser.post(shown.action, shown.fields)).statusCode, 403)
  t.equal((await browser.press(url, '/start')).statusCode, 200)
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

t.test('a link that is retired in the moment in which it is handed out is not handed out', async t => {
  const server = await startServer(t)
  const writer = await server.elicit(A, { clientId: 'client-2', scopes: ['issues:write'] })
  const reader = await server.elicit(A)
  const browser = server.browser(A)
  const callback = await server.untilCallback(browser, reader.url)
  const { put, get } = server.store.state
  let [retire, stored, look, reached] = [(): void => {}, (): void => {}, (): void => {}, (): void => {}]
  const retiring = new Promise<void>(resolve => { retire = resolve })
  const storing = new Promise<void>(resolve => { stored = resolve })
  const looking = new Promise<void>(resolve => { look = resolve })
  const watching = new Promise<void>(resolve => { reached = resolve })
  t.intercept(server.store.state, 'put', {
    value: async (...args: Parameters<typeof put>) => {
      if (args[0].startsWith('elicitation-generation:')) {
        stored()
        await retiring
      }
      return await put(...args)
    }
  })
  let looks = 0
  t.intercept(server.store.state, 'get', {
    value: async (key: string) => {
      const found = await get(key)
      if (key.startsWith('elicitation:') && armed && ++looks === 1) {      // the record has been read, and is not handed out yet
        reached()
        await looking
      }
      return found
    }
  })
  let armed = false
  const answer = browser.get(callback.href)
  await storing                                   // connected, without the scope that the writer needs
  armed = true
  const call = writer.session.client.callTool({ name: 'issues' }).catch(error => error)
  await watching
  retire()
  t.equal((await answer).statusCode, 303)
  look()
  const { elicitations } = await call
  t.strictSame(writer.session.completed, [writer.id])
  t.not(elicitations[0].elicitationId, writer.id)
})

t.test('declined while the vault took longer than the hold: not connected', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  const callback = await server.untilCallback(browser, url)
  const decline = findForm(await browser.get(url), '/decline')
  const { reached, open } = gate(t, server)
  const answer = browser.get(callback.href)
  await reached
  advance(t, 31_000)
  t.equal((await browser.post(decline.action, decline.fields)).statusCode, 303)
  open()
  t.equal(title(await answer), 'This is finished')
  t.equal(await server.vaultRows(), '[]')
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

t.test('a provider that no longer takes a scope: the page says how to get rid of it', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  const callback = await server.untilCallback(browser, url)
  callback.searchParams.delete('code')
  callback.searchParams.set('error', 'invalid_scope')
  const answer = await browser.get(callback.href)
  t.equal(answer.statusCode, 502)
  t.match(answer.body, /Disconnect it on your connections page.*Your connections/s)
  t.match(server.log.join(''), 'SCOPE_REFUSED')
})

t.test('and what it says helps', async t => {
  const server = await startServer(t)
  const { url, session } = await server.elicit(A, { scopes: ['issues:write'] })
  const browser = server.browser(A)
  await browser.get((await server.untilCallback(browser, url)).href)
  const again = String((await browser.press('/connect', '/acme/connect')).headers.location)
  t.match((await browser.get(again)).body, 'issues:write')
  const refused = await server.untilCallback(browser, again)
  refused.searchParams.delete('code')
  refused.searchParams.set('error', 'invalid_scope')
  t.equal((await browser.get(refused.href)).statusCode, 502)
  await browser.press('/connect', '/acme/disconnect')
  const anew = String((await browser.press('/connect', '/acme/connect')).headers.location)
  t.notMatch((await browser.get(anew)).body, 'issues:write')
  t.strictSame(session.completed.length, 1)
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
  const { reached, open } = gate(t, server)
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
  open()
  t.equal(title(await answer), 'You have disconnected this')
  t.equal(await server.vaultRows(), '[]')
})

t.test('a decline on the connections page\'s own link changes no client\'s link', async t => {
  const server = await startServer(t)
  const { id, session } = await server.elicit(A)
  const browser = server.browser(A)
  await browser.press(String((await browser.press('/connect', '/acme/connect')).headers.location), '/decline')
  const again = await session.client.callTool({ name: 'issues' }).catch(error => error)
  t.equal(again.elicitations[0].elicitationId, id)
  t.strictSame(session.completed, [])
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
  t.equal((await browser.press(url, '/decline')).statusCode, 503)
  await session.client.ping()
  t.equal(session.completed.length, 1)
  t.equal(title(await browser.get(url)), 'This is finished')
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

t.test('a flow that took longer than its hold does not replace what was connected meanwhile', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  const [slow, quick] = [await server.untilCallback(browser, url), await server.untilCallback(browser, url)]
  const { sent, arrive } = slowTokenAnswer(t)
  const answer = browser.get(slow.href)
  await sent
  advance(t, 31_000)
  t.equal((await browser.get(quick.href)).statusCode, 303)
  const rows = await server.vaultRows()
  arrive()
  t.equal(title(await answer), 'This is finished')
  t.equal(await server.vaultRows(), rows)
})

t.test('a disconnect while the provider takes its time: what was connected since is kept', async t => {
  const server = await startServer(t)
  const { url, session } = await server.elicit(A)
  const browser = server.browser(A)
  const slow = await server.untilCallback(browser, url)
  const { sent, arrive } = slowTokenAnswer(t)
  const answer = browser.get(slow.href)
  await sent
  const { action, fields } = findForm(await browser.get('/connect'), '/acme/connect')
  const location = String((await browser.post(action, fields)).headers.location)
  await browser.get((await server.untilCallback(browser, location)).href)
  await browser.press('/connect', '/acme/disconnect')
  const anew = String((await browser.press('/connect', '/acme/connect')).headers.location)
  t.equal((await browser.get((await server.untilCallback(browser, anew)).href)).statusCode, 303)
  const rows = await server.vaultRows()
  arrive()
  t.equal(title(await answer), 'You have disconnected this')
  t.equal(await server.vaultRows(), rows)
  t.match(await session.client.callTool({ name: 'issues' }), { content: [{ text: /rabbit hole/ }] })
})
