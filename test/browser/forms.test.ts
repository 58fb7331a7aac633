import { randomBytes } from 'node:crypto'
import t from 'tap'
import { findForm, title } from '../fixtures/browser.js'
import { advance } from '../fixtures/clock.js'
import { refused, type Refusal } from '../fixtures/refused.js'
import { A, B, startServer } from '../fixtures/server.js'

const CSRF_FAILED: Refusal = { status: 403, code: 'CSRF_FAILED', event: 'csrf.failed' }
const FORM_INVALID: Refusal = { status: 400, code: 'FORM_INVALID', event: 'csrf.failed' }
const ORIGIN_MISMATCH: Refusal = { status: 403, code: 'ORIGIN_MISMATCH', event: 'csrf.failed' }

t.test('BRW-06 forms sent by another site', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  const { location } = (await browser.press('/connect', '/other/connect')).headers
  await browser.get((await server.untilCallback(browser, String(location))).href)
  const pages = [[url, '/start'], [url, '/decline'], ['/connect', '/acme/connect'], ['/connect', '/other/disconnect']] as const
  for (const [page, ending] of pages) {
    const form = findForm(await browser.get(page), ending)
    for (const headers of [
      { origin: 'https://attacker.example' }, { origin: 'null' }, { origin: 'https://mcp.example.com.attacker.example' }, { origin: 'http://mcp.example.com' },
      { origin: 'https://mcp.example.com:8443' }, { 'sec-fetch-site': 'none' }, { 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'same-site' }
    ] as Array<Record<string, string>>) {
      const answer = await refused(t, server, () => browser.post(form.action, form.fields, headers), 'origin' in headers ? ORIGIN_MISMATCH : CSRF_FAILED)
      t.match(title(answer), /^This form (has expired|came from another address)$/)
    }
    for (const csrf of ['', 'x', '.', '99999999999999.', '99999999999999.AA', `99999999999999.${'A'.repeat(43)}`]) {
      await refused(t, server, () => browser.post(form.action, { csrf }), CSRF_FAILED)
    }
    for (const fields of [{}, { ...form.fields, more: 'x' }]) await refused(t, server, () => browser.post(form.action, fields), FORM_INVALID)
  }
  t.equal((await browser.get(url)).statusCode, 200, 'nothing was changed')
  t.match((await browser.get('/connect')).body, 'Connected since')
  t.match(server.log.join(''), 'A form came with the Origin https://attacker.example, and baseUrl is https://mcp.example.com', 'the operator of a wrong baseUrl can read it')
})

t.test('BRW-07 a token of another user\'s session, another elicitation or action, or an old one', async t => {
  const server = await startServer(t)
  const first = await server.elicit(A)
  const second = await server.elicit(A, { clientId: 'client-2' })
  const browser = server.browser(A)
  const start = findForm(await browser.get(first.url), '/start')
  const foreign = {
    'another user': findForm(await server.browser(B).get('/connect'), '/acme/connect'),
    'another elicitation': findForm(await browser.get(second.url), '/start'),
    'another action': findForm(await browser.get(first.url), '/decline')
  }
  for (const [what, { fields }] of Object.entries(foreign)) await refused(t, server, () => browser.post(start.action, fields), { ...CSRF_FAILED, what })
  await refused(t, server, () => server.browser(A).post(start.action, start.fields), { ...CSRF_FAILED, what: 'a browser that was shown no page' })
  const elsewhere = server.browser(A)
  const [id, expiresAt, mac] = start.fields['csrf']!.split('.')
  const [idElsewhere] = findForm(await elsewhere.get('/connect'), '/acme/connect').fields['csrf']!.split('.')
  await refused(t, server, () => elsewhere.post(start.action, start.fields), { ...CSRF_FAILED, what: 'another browser of the same user' })
  await refused(t, server, () => elsewhere.post(start.action, { csrf: `${idElsewhere}.${expiresAt}.${mac}` }), { ...CSRF_FAILED, what: 'with the id of its own cookie' })
  elsewhere.cookies.set([...browser.cookies.keys()][0]!, [...elsewhere.cookies.values()][0]!)
  await refused(t, server, () => elsewhere.post(start.action, start.fields), { ...CSRF_FAILED, what: 'with its own cookie under the name of the other' })
  await refused(t, server, () => browser.post(start.action, { csrf: `${id}.${Number(expiresAt) + 1}.${mac}` }), { ...CSRF_FAILED, what: 'a longer life' })
  t.equal((await browser.post(start.action, start.fields)).statusCode, 200)
  t.intercept(Date, 'now', { value: () => Number(expiresAt) + 1 })
  await refused(t, server, () => browser.post(start.action, start.fields), { ...CSRF_FAILED, what: 'an old one' })
})

t.test('BRW-07 a form that was shown to one user is none of another who signs in in the same browser', async t => {
  const server = await startServer(t)
  const browser = server.browser(A)
  const form = findForm(await browser.get('/connect'), '/acme/connect')
  browser.user = B
  await refused(t, server, () => browser.post(form.action, form.fields), CSRF_FAILED)
  browser.user = A
  t.equal((await browser.post(form.action, form.fields)).statusCode, 303)
})

t.test('BRW-09 browsers without Origin and Sec-Fetch-Site: the token decides', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  const form = findForm(await browser.get(url), '/start')
  const bare = (fields: Record<string, string>) => server.app.inject({
    method: 'POST',
    url: new URL(form.action).pathname,
    payload: new URLSearchParams(fields).toString(),
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'x-test-user': JSON.stringify(A),
      cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    }
  })
  await refused(t, server, async () => await bare({ csrf: 'x' }), CSRF_FAILED)
  t.equal((await bare({ ...form.fields })).statusCode, 200)
})

t.test('BRW-16 answers to forms are 200 or 303, never a redirect that repeats the form', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  t.equal((await browser.press(url, '/start')).statusCode, 200)
  t.equal((await browser.press(url, '/decline')).statusCode, 303)
  t.equal((await browser.press('/connect', '/acme/connect')).statusCode, 303)
})

t.test('a browser that was shown a page for another user cannot send this user\'s form', async t => {
  const server = await startServer(t)
  const own = server.browser(A)
  const form = findForm(await own.get('/connect'), '/acme/connect')
  const other = server.browser(B)
  await other.get('/connect')
  await refused(t, server, () => other.post(form.action, form.fields), CSRF_FAILED)
  other.user = A
  await refused(t, server, () => other.post(form.action, form.fields), CSRF_FAILED)
  t.equal((await own.post(form.action, form.fields)).statusCode, 303)
})

t.test('forms and browser sessions outlive a new key', async t => {
  const [oldKey, newKey] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')]
  const before = await startServer(t, { keys: [oldKey] })
  const browser = before.browser(A)
  const form = findForm(await browser.get('/connect'), '/acme/connect')
  const after = await startServer(t, { keys: [newKey, oldKey] })
  const same = after.browser(A)
  for (const [name, value] of browser.cookies) same.cookies.set(name, value)
  t.equal((await same.post(form.action, form.fields)).statusCode, 303)
  const without = (await startServer(t, { keys: [newKey] })).browser(A)
  for (const [name, value] of browser.cookies) without.cookies.set(name, value)
  t.equal((await without.post(form.action, form.fields)).statusCode, 403)
})

t.test('the form of another server that has the same keys is not taken, even with its cookie', async t => {
  const keys = [randomBytes(32).toString('base64')]
  const [own, other] = [await startServer(t, { keys }), await startServer(t, { keys, baseUrl: 'https://other.example.com' })]
  const browser = other.browser(A)
  const form = findForm(await browser.get('/connect'), '/acme/connect')
  const here = own.browser(A)
  for (const [name, value] of browser.cookies) here.cookies.set(name, value)
  await refused(t, own, () => here.post('/connect/providers/acme/connect', form.fields), CSRF_FAILED)
  t.equal((await browser.post(form.action, form.fields, { origin: 'https://other.example.com' })).statusCode, 303)
})

t.test('each form does its own thing to its own link, and only while that may be done', async t => {
  let allowed = true
  const server = await startServer(t, { authorize: async () => allowed })
  const [one, two] = [await server.elicit(A), await server.elicit(A, { clientId: 'client-2' })]
  const browser = server.browser(A)
  const [first, second] = [await browser.get(one.url), await browser.get(two.url)]
  const [decline, other] = [findForm(first, '/decline'), findForm(second, '/decline')]
  await refused(t, server, () => browser.post(decline.action, other.fields), CSRF_FAILED)
  const connections = await browser.get('/connect')
  await refused(t, server, () => browser.post(findForm(connections, '/acme/connect').action, findForm(connections, '/other/connect').fields), CSRF_FAILED)
  await refused(t, server, () => browser.post('/connect/providers/acme/disconnect', findForm(connections, '/acme/connect').fields), CSRF_FAILED)
  allowed = false
  const start = findForm(first, '/start')
  t.equal(title(await refused(t, server, () => browser.post(start.action, start.fields), { status: 403, code: 'NOT_AUTHORIZED' })), 'Not allowed')
  allowed = true
  // An Origin that agrees with Host, and not with baseUrl.
  await refused(t, server, () => browser.post(start.action, start.fields, { host: 'attacker.example', origin: 'https://attacker.example' }), ORIGIN_MISMATCH)
  advance(t, 16 * 60_000)
  await refused(t, server, () => browser.post(decline.action, decline.fields), { status: 410, code: 'EXPIRED', event: 'elicitation.expired' })
})

t.test('two pages opened at once: the forms of both work', async t => {
  const server = await startServer(t)
  const [one, two] = [await server.elicit(A), await server.elicit(A, { clientId: 'client-2' })]
  const browser = server.browser(A)
  const forms = (await Promise.all([browser.get(one.url), browser.get(two.url)])).map(page => findForm(page, '/start'))
  for (const { action, fields } of forms) t.equal((await browser.post(action, fields)).statusCode, 200)
})

t.test('what was added after the page was shown is not agreed to', async t => {
  const server = await startServer(t)
  const first = await server.elicit(A)
  const browser = server.browser(A)
  const shown = findForm(await browser.get(first.url), '/start')
  await server.elicit(A, { scopes: ['issues:write'], reason: 'to close issues' })
  const answer = await refused(t, server, () => browser.post(shown.action, shown.fields), CSRF_FAILED)
  t.match(answer.body, `href="${first.url}">Start again`)
  const page = await browser.get(first.url)
  t.match(page.body, /to list your issues<br>to close issues.*issues:read.*issues:write/s)
  t.equal((await browser.press(first.url, '/start')).statusCode, 200)
})

t.test('scopes alone, or reasons alone, that were added after the page was shown are not agreed to either', async t => {
  for (const added of [{ scopes: ['issues:write'] }, { reason: 'to close issues' }]) {
    const server = await startServer(t)
    const { url } = await server.elicit(A)
    const browser = server.browser(A)
    const shown = findForm(await browser.get(url), '/start')
    await server.elicit(A, added)
    await refused(t, server, () => browser.post(shown.action, shown.fields), { ...CSRF_FAILED, what: JSON.stringify(added) })
    t.equal((await browser.press(url, '/start')).statusCode, 200)
  }
})

t.test('however many pages are opened after it, a form is good: all of them have one cookie', async t => {
  const server = await startServer(t)
  const browser = server.browser(A)
  const form = findForm(await browser.get('/connect'), '/acme/connect')
  for (let i = 0; i < 6; i++) await browser.get('/connect')
  t.equal(browser.cookies.size, 1)
  t.equal((await browser.post(form.action, form.fields)).statusCode, 303)
})

t.test('a page of another user does not push out the cookie of the newest form, however many pages were opened at once', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  await Promise.all(Array.from({ length: 6 }, async () => await browser.get(url)))
  const form = findForm(await browser.get(url), '/start')
  browser.user = B
  await browser.get('/connect')
  browser.user = A
  t.equal((await browser.post(form.action, form.fields)).statusCode, 200)
})
