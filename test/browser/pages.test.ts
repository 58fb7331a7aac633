import { sealData, unsealData } from 'iron-session'
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { createKeyRing } from '../../lib/vault/key-ring.js'
import { findForm, title, USER_HEADER } from '../fixtures/browser.js'
import { advance } from '../fixtures/clock.js'
import { headerFaults } from '../fixtures/headers.js'
import { refused, type Refusal } from '../fixtures/refused.js'
import { A, B, startServer } from '../fixtures/server.js'

const METHOD_NOT_ALLOWED: Refusal = { status: 405, code: 'METHOD_NOT_ALLOWED' }
const SUBJECT_MISMATCH: Refusal = { status: 403, code: 'SUBJECT_MISMATCH', event: 'elicitation.subject_mismatch' }
const CSRF_FAILED: Refusal = { status: 403, code: 'CSRF_FAILED', event: 'csrf.failed' }

t.test('BRW-01 cookies', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  const page = await browser.get(url)
  const started = await browser.press(url, '/start')
  const lines = [page, started].flatMap(({ headers }) => headers['set-cookie'] as string[])
  t.equal(lines.length, 2)
  for (const line of lines) {
    t.match(line, /^__Host-mcp-connect/)
    t.match(line, /; Path=\/(;|$)/)
    for (const attribute of ['Secure', 'HttpOnly', 'SameSite=Lax']) t.match(line, `; ${attribute}`)
    t.notMatch(line, 'Domain')
  }
  t.match(lines[1], /^__Host-mcp-connect-flow-[0-9a-f]{16}=[\w-]{43}; Max-Age=600/)
})

t.test('cookies on loopback without TLS have no __Host- prefix, since browsers would drop them', async t => {
  const server = await startServer(t, { baseUrl: 'http://localhost:3000' })
  const cookie = String((await server.browser(A).get('/connect')).headers['set-cookie'])
  t.match(cookie, /^mcp-connect-form-[0-9a-f]{16}=/)
  t.notMatch(cookie, 'Secure')
  t.equal((await server.browser(A).get('/connect')).headers['strict-transport-security'], undefined)
})

t.test('BRW-03 HEAD moves nothing', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  await refused(t, server, () => browser.get(url, {}, 'HEAD'), METHOD_NOT_ALLOWED)
  const callback = await server.untilCallback(browser, url)
  await refused(t, server, () => browser.get(callback.href, {}, 'HEAD'), METHOD_NOT_ALLOWED)
  t.equal((await browser.get(callback.href)).statusCode, 303)
})

t.test('BRW-05 a link-preview robot leaves the link as it is', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  for (let i = 0; i < 3; i++) t.equal((await server.browser(null).get(url, { purpose: 'prefetch', 'sec-purpose': 'prefetch' })).statusCode, 303)
  t.equal((await server.browser(A).get(url)).statusCode, 200)
})

t.test('BRW-10 other methods: 405, no effect', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  const form = findForm(await browser.get(url), '/start')
  for (const [method, path] of [
    ['GET', `${url}/start`], ['GET', `${url}/decline`], ['GET', '/connect/providers/acme/connect'], ['GET', '/connect/providers/acme/disconnect'],
    ['POST', url], ['POST', `${url}/done`], ['PUT', url], ['DELETE', url], ['OPTIONS', url], ['PATCH', '/connect']
  ] as const) {
    const answer = await refused(t, server, async () => await server.app.inject({
      method,
      url: `${new URL(path, url).pathname}?_method=POST&csrf=${form.fields['csrf']}`,
      headers: { [USER_HEADER]: JSON.stringify(A), 'x-http-method-override': 'POST' }
    }), { ...METHOD_NOT_ALLOWED, what: `${method} ${path}` })
    t.match(answer.headers['allow'], /^(GET|POST)$/)
  }
  t.equal(server.acme.authorizationRequests, 0)
})

t.test('BRW-11 every answer has the headers, and is a page', async t => {
  const server = await startServer(t, { authorize: principal => principal.subject !== 'b' })
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  const broken = server.browser({ issuer: '', subject: '' })
  const form = findForm(await browser.get(url), '/start')
  const answers = {
    200: await browser.get(url),
    303: await server.browser(null).get(url),
    400: await browser.get('/connect/callback/acme'),
    401: await server.browser(null).post(form.action, form.fields),
    403: await browser.post(form.action, { csrf: 'x' }),
    404: await browser.get('/connect/no/such/page'),
    405: await browser.get(`${url}/start`),
    413: await browser.post(form.action, { csrf: 'x'.repeat(20_000) }),
    415: await browser.post(form.action, form.fields, { 'content-type': 'application/json' }),
    500: await broken.get(url)
  }
  for (const [status, { statusCode, headers, body }] of Object.entries(answers)) {
    t.equal(statusCode, Number(status))
    t.strictSame(headerFaults(headers, true), [], status)
    if (statusCode === 303) continue
    t.equal(headers['content-type'], 'text/html; charset=utf-8', status)
    t.match(body, /<h1>[^<]+<\/h1>/, status)
    t.match(body, /<a class="button|<form/, 'with a way on')
  }
})

t.test('what is finished can be neither started nor declined nor looked at by others', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  const page = await browser.get(url)
  const [start, decline] = [findForm(page, '/start'), findForm(page, '/decline')]
  t.equal((await browser.get(`${url}/done`)).headers.location, url, 'nothing is done yet')
  const other = server.browser(B)
  for (const { action, fields } of [start, decline]) await refused(t, server, () => other.post(action, fields), SUBJECT_MISMATCH)
  t.equal(title(await refused(t, server, () => other.get(`${url}/done`), SUBJECT_MISMATCH)), 'This link is for another account')
  const callback = await browser.get((await server.untilCallback(browser, url)).href)
  t.match(String(callback.headers['set-cookie']), /^__Host-mcp-connect-flow-[0-9a-f]{16}=; Max-Age=0/, 'the flow cookie is taken back')
  const consumed: Refusal = { status: 409, code: 'CONSUMED' }
  await refused(t, server, () => browser.get(url), consumed)
  await refused(t, server, () => browser.post(start.action, start.fields), consumed)
  await refused(t, server, () => browser.post(decline.action, decline.fields), consumed)
  await refused(t, server, () => other.get(`${url}/done`), SUBJECT_MISMATCH)
})

t.test('the connections page follows authorize, and asks again for what was granted', async t => {
  let allowed = true
  const server = await startServer(t, { authorize: () => allowed })
  const browser = server.browser(A)
  const form = findForm(await browser.get('/connect'), '/acme/connect')
  const { url } = await server.elicit(A, { scopes: ['issues:write'] })
  await browser.get((await server.untilCallback(browser, url)).href)
  const { location } = (await browser.press('/connect', '/acme/connect')).headers
  t.match((await browser.get(String(location))).body, /<code>issues:read<\/code>, <code>issues:write<\/code>/)
  allowed = false
  await refused(t, server, () => browser.post(form.action, form.fields), { status: 403, code: 'NOT_AUTHORIZED' })
  const page = (await browser.get('/connect')).body
  t.match(page, '/acme/disconnect')
  t.notMatch(page, '/acme/connect"')
  t.notMatch(page, 'provider-other', 'what one may not connect and has not is not offered')
})

t.test('foreign cookies that are named like ours do no harm', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  for (let i = 0; i < 30; i++) browser.cookies.set(`__Host-mcp-connect-flow-junk ${i}"`, 'x')
  t.equal((await browser.press(url, '/start')).statusCode, 200)
})

t.test('a cookie that is there twice is refused', async t => {
  const server = await startServer(t)
  const browser = server.browser(A)
  await browser.get('/connect')
  const [name, value] = [...browser.cookies][0]!
  await refused(t, server, () => browser.get('/connect', { cookie: `${name}=planted; ${name}=${value}` }), { status: 400, code: 'COOKIE_INVALID' })
})

t.test('BRW-20 a seal made with the same key for something else, an old one, or a broken one, is not taken', async t => {
  const key = randomBytes(32)
  const server = await startServer(t, { keys: [key.toString('base64')] })
  const browser = server.browser(A)
  const form = findForm(await browser.get('/connect'), '/acme/connect')
  const [name, value] = [...browser.cookies][0]!
  const password = createKeyRing([key]).derive('mcp-connect form cookie')[0]!.toString('base64url')
  const data = await unsealData<Record<string, unknown>>(value, { password })
  t.match(data, { purpose: 'mcp-connect form' }, 'the key is the right one')
  for (const seal of [
    await sealData({ ...data, purpose: 'login' }, { password }),
    await sealData({ ...data, expiresAt: Date.now() - 1 }, { password }),
    '', 'x', 'Fe26.2*1*x*x*x*NaN*x*x~2', `${value.slice(0, -8)}x~2`, value.replace('Fe26.2', 'Fe26.1')
  ]) {
    browser.cookies.set(name, seal)
    await refused(t, server, () => browser.post(form.action, form.fields), CSRF_FAILED)
  }
  browser.cookies.set(name, await sealData(data, { password }))
  t.equal((await browser.post(form.action, form.fields)).statusCode, 303)
})

t.test('the connections page: connect, connect again, disconnect', async t => {
  const server = await startServer(t)
  const browser = server.browser(A)
  t.equal((await server.browser(null).get('/connect')).headers.location, '/login?returnTo=%2Fconnect')
  t.match((await browser.get('/connect')).body, /Acme.*Not connected/s)
  const { location } = (await browser.press('/connect', '/acme/connect')).headers
  const callback = await server.untilCallback(browser, String(location))
  t.equal((await browser.get(callback.href)).statusCode, 303)
  t.match((await browser.get('/connect')).body, /Connected since <time[^>]*>\d{4}-\d\d-\d\d<\/time>, with <code>issues:read<\/code>/)
  const session = await server.openSession({ user: A })
  t.match(await session.client.callTool({ name: 'issues' }), { content: [{ text: /rabbit hole/ }] })

  t.equal((await server.browser(B).get('/connect')).body.includes('Connected since'), false, 'others see their own')
  const disconnect = findForm(await browser.get('/connect'), '/acme/disconnect')
  t.equal((await browser.post(disconnect.action, disconnect.fields)).headers.location, 'https://mcp.example.com/connect')
  t.equal((await browser.post(disconnect.action, disconnect.fields)).statusCode, 303, 'twice does no harm')
  t.match((await browser.get('/connect')).body, /Acme.*Not connected/s)
  t.equal(await server.vaultRows(), '[]')
  await t.resolves(server.elicit(A), 'the tool asks again')
  await refused(t, server, () => browser.post('/connect/providers/nobody/connect', disconnect.fields), { status: 404, code: 'NOT_FOUND' })
})

t.test('INP-01 names and words of others are shown as text', async t => {
  const hostile = '<img src=x onerror=1>"></form>\u202E'
  const server = await startServer(t, { acme: { name: '<b>"Acme"</b>', scopes: ['<b>&scope'] }, name: '<i>Example</i>' })
  const { url } = await server.elicit(A, { clientName: hostile, reason: '<b>why</b>' })
  const browser = server.browser({ ...A, label: hostile })
  for (const page of [await browser.get(url), await browser.get('/connect'), await browser.press(url, '/start')]) {
    t.notMatch(page.body, /<img|<\/form>"|<b>|<i>|\u202E/)
    t.match(page.body, '&#60;b&#62;')
  }
  t.match((await browser.get(url)).body, /<code>&#60;b&#62;&#38;scope<\/code>/)
  const leaving = (await browser.press(url, '/start')).body
  t.equal(leaving.match(/&#38;code_challenge&#61;/g)?.length, 2, 'where it goes on by itself, and by the button')
  t.notMatch(leaving, /[?&]code_challenge/)
  t.match((await browser.press(url, '/decline')).statusCode, 303)
  t.notMatch((await browser.get(`${url}/done`)).body, /<b>|<i>/)

  const connecting = await startServer(t, { acme: { name: '<b>"Acme"</b>' }, name: '<i>Example</i>' })
  const link = await connecting.elicit(A)
  const user = connecting.browser({ ...A, label: hostile })
  await user.get((await connecting.untilCallback(user, link.url)).href)
  const done = await user.get(`${link.url}/done`)
  t.equal(title(done), '<b>"Acme"</b> is connected')
  t.notMatch(done.body, /<img|<\/form>"|<b>|<i>|\u202E/)
})

t.test('LOG-01 queries and ids of our addresses stay out of the log', async t => {
  const server = await startServer(t)
  const { url, id } = await server.elicit(A)
  const browser = server.browser(A)
  const callback = await server.untilCallback(browser, url)
  await browser.get(callback.href)
  await browser.get('/connect/no/such/page?code=canary-1')
  await browser.get(`${url}?code=canary-2`)
  const log = server.log.join('')
  t.match(log, '/connect/callback/:provider', 'requests are logged by their route')
  for (const secret of [...callback.searchParams.values(), id, 'canary']) if (secret !== server.acme.issuer) t.notMatch(log, secret)
})

t.test('a disconnect is of one provider', async t => {
  const server = await startServer(t)
  const browser = server.browser(A)
  for (const key of ['acme', 'other']) {
    const { location } = (await browser.press('/connect', `/${key}/connect`)).headers
    await browser.get((await server.untilCallback(browser, String(location))).href)
  }
  const page = await browser.get('/connect')
  await refused(t, server, () => browser.post(findForm(page, '/other/disconnect').action, findForm(page, '/acme/disconnect').fields), CSRF_FAILED)
  await browser.press('/connect', '/acme/disconnect')
  t.equal((await browser.get('/connect')).body.match(/Connected since/g)?.length, 1)
})

t.test('hostile labels on the pages of refusals; an outage of the vault is no unreadable grant', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const page = await server.browser({ ...B, label: '<b>b</b>' }).get(url)
  t.match(page.body, '&#60;b&#62;')
  t.notMatch(page.body, '<b>')
  t.notMatch((await server.browser({ ...A, label: 'canary' }).get('/connect/callback/acme')).body, 'canary')
  t.match((await server.browser({ ...A, label: '\u202E' }).get('/connect')).body, 'Signed in as <strong>a</strong>')
  t.match((await server.browser({ issuer: A.issuer, subject: 'a\u202Eb' }).get('/connect')).body, 'Signed in as <strong>a b</strong>')
  t.intercept(server.store.vault, 'get', { value: async () => { throw new Error('down') } })
  const broken = await server.browser(A).get('/connect')
  t.equal(broken.statusCode, 503)
  t.notMatch(broken.body, 'no longer be read')
})

t.test('the connections page says that an access has expired', async t => {
  const server = await startServer(t)
  const browser = server.browser(A)
  const { location } = (await browser.press('/connect', '/acme/connect')).headers
  await browser.get((await server.untilCallback(browser, String(location))).href)
  t.match((await browser.get('/connect')).body, /Connected since .* with <code>issues:read<\/code>\.</)
  advance(t, 60 * 24 * 60 * 60_000)
  const session = await server.openSession({ user: A })
  await t.rejects(session.client.callTool({ name: 'issues' }), { code: -32042 }, 'the provider says so')
  t.match((await browser.get('/connect')).body, /Connected since .* with <code>issues:read<\/code>, but the access has expired\. Connect it again\./)
})

t.test('the content security policy, to the letter', async t => {
  const { headers } = await (await startServer(t)).browser(A).get('/connect')
  t.match(headers['content-security-policy'], /^default-src 'none'; style-src 'sha256-[\w+/]{43}='; form-action 'self'; frame-ancestors 'none'; base-uri 'none'$/)
})
