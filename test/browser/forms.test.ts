import { randomBytes } from 'node:crypto'
import t from 'tap'
import { findForm, title } from '../fixtures/browser.js'
import { advance } from '../fixtures/clock.js'
import { A, B, startServer } from '../fixtures/server.js'

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
      const answer = await browser.post(form.action, form.fields, headers)
      t.equal(answer.statusCode, 403, `${ending} ${JSON.stringify(headers)}`)
      t.match(title(answer), /^This form (has expired|came from another address)$/)
    }
    t.equal((await browser.post(form.action, { csrf: '' })).statusCode, 403)
    for (const csrf of ['x', '.', '99999999999999.', '99999999999999.AA', `99999999999999.${'A'.repeat(43)}`]) t.equal((await browser.post(form.action, { csrf })).statusCode, 403)
    t.equal((await browser.post(form.action, {})).statusCode, 400)
    t.equal((await browser.post(form.action, { ...form.fields, more: 'x' })).statusCode, 400)
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
  for (const [name, { fields }] of Object.entries(foreign)) t.equal((await browser.post(start.action, fields)).statusCode, 403, name)
  t.equal((await server.browser(A).post(start.action, start.fields)).statusCode, 403, 'a browser that was shown no page')
  const elsewhere = server.browser(A)
  await elsewhere.get('/connect')
  t.equal((await elsewhere.post(start.action, start.fields)).statusCode, 403, 'another browser of the same user')
  const [id, expiresAt, mac] = start.fields['csrf']!.split('.')
  t.equal((await browser.post(start.action, { csrf: `${id}.${Number(expiresAt) + 1}.${mac}` })).statusCode, 403, 'a longer life')
  t.equal((await browser.post(start.action, start.fields)).statusCode, 200)
  t.intercept(Date, 'now', { value: () => Number(expiresAt) + 1 })
  t.equal((await browser.post(start.action, start.fields)).statusCode, 403, 'an old one')
})

t.test('BRW-09 browsers without Origin and Sec-Fetch-Site: the token decides', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  const form = findForm(await browser.get(url), '/start')
  const bare = async (fields: Record<string, string>) => await server.app.inject({
    method: 'POST',
    url: new URL(form.action).pathname,
    payload: new URLSearchParams(fields).toString(),
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'x-test-user': JSON.stringify(A),
      cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    }
  })
  t.equal((await bare({ csrf: 'x' })).statusCode, 403)
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
  t.equal((await other.post(form.action, form.fields)).statusCode, 403, 'nor this user that one\'s')
  other.user = A
  t.equal((await other.post(form.action, form.fields)).statusCode, 403)
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

t.test('each form does its own thing to its own link, and only while that may be done', async t => {
  let allowed = true
  const server = await startServer(t, { authorize: () => allowed })
  const [one, two] = [await server.elicit(A), await server.elicit(A, { clientId: 'client-2' })]
  const browser = server.browser(A)
  const [first, second] = [await browser.get(one.url), await browser.get(two.url)]
  const [decline, other] = [findForm(first, '/decline'), findForm(second, '/decline')]
  t.equal((await browser.post(decline.action, other.fields)).statusCode, 403, 'the decline of another link')
  const connections = await browser.get('/connect')
  t.equal((await browser.post(findForm(connections, '/acme/connect').action, findForm(connections, '/other/connect').fields)).statusCode, 403)
  allowed = false
  const start = findForm(first, '/start')
  const refused = await browser.post(start.action, start.fields)
  t.equal(refused.statusCode, 403)
  t.equal(title(refused), 'Not allowed')
  allowed = true
  t.equal((await server.app.inject({
    method: 'POST',
    url: new URL(start.action).pathname,
    payload: new URLSearchParams(start.fields).toString(),
    headers: {
      host: 'attacker.example',
      origin: 'https://attacker.example',
      'content-type': 'application/x-www-form-urlencoded',
      'x-test-user': JSON.stringify(A),
      cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    }
  })).statusCode, 403, 'an Origin that agrees with Host, and not with baseUrl')
  advance(t, 16 * 60_000)
  t.equal((await browser.post(decline.action, decline.fields)).statusCode, 410)
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
  const answer = await browser.post(shown.action, shown.fields)
  t.equal(answer.statusCode, 403)
  t.match(answer.body, `href="${first.url}">Start again`)
  const page = await browser.get(first.url)
  t.match(page.body, /to list your issues<br>to close issues.*issues:read.*issues:write/s)
  t.equal((await browser.press(first.url, '/start')).statusCode, 200)
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
