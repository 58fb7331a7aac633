import { randomBytes } from 'node:crypto'
import { connect, type AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { memoryStore } from '../../lib/index.js'
import type { OidcLoginOptions, Principal } from '../../lib/types.js'
import { findForm, findLink, title, type TestBrowser } from '../fixtures/browser.js'
import { advance } from '../fixtures/clock.js'
import { LOGIN_CALLBACK, startWithLogin, type LoginServer } from '../fixtures/login.js'
import { refused, type Refusal } from '../fixtures/refused.js'
import { BASE_URL } from '../fixtures/server.js'

const SESSION = '__Host-mcp-connect-session'
const MINUTE_MS = 60_000

// Who is signed in stands in a cookie here, and so has to be said.
const SIGN_IN_INVALID: Refusal = { status: 400, code: 'SIGN_IN_INVALID', event: 'session.refused', user: null }

const alice = ({ authorizationServer }: LoginServer): Principal => ({ issuer: authorizationServer.issuer, subject: 'employee-1' })

t.test('signing in leads back to the page, which names the account and offers another', async t => {
  const server = await startWithLogin(t)
  const { url } = await server.elicit(alice(server))
  const { browser, signIn } = server.person('alice')
  const redirect = await browser.get(url)
  t.equal(redirect.statusCode, 303)
  const { pathname } = new URL(url)
  t.equal(redirect.headers.location, `/connect/login?returnTo=${encodeURIComponent(pathname)}`)
  const response = await signIn(url)
  t.match(response, { statusCode: 303, headers: { location: pathname } })
  const page = await browser.get(url)
  t.equal(title(page), 'Connect Acme to Example?')
  t.match(page.body, /Your account here<\/dt><dd><strong>alice<\/strong> /)
  t.equal(findLink(page, 'use another account'), `/connect/login?returnTo=${encodeURIComponent(pathname)}&switch=true`)
  const callback = await server.untilCallback(browser, url)
  t.equal((await browser.get(callback.href)).statusCode, 303)
  t.match((await browser.get('/connect')).body, /Signed in as <strong>alice<\/strong>.*Connected since/s)
})

t.test('BRW-01 the cookies of the login are ours alone, and hold nothing of the user', async t => {
  const server = await startWithLogin(t)
  const { browser, untilCallback } = server.person('alice')
  const start = await browser.get('/connect/login')
  t.match(String(start.headers['set-cookie']), /^__Host-mcp-connect-login-[0-9a-f]{16}=\S+; Max-Age=600; Path=\/; HttpOnly; Secure; SameSite=Lax$/)
  const request = new URL(String(start.headers.location))
  t.match(Object.fromEntries(request.searchParams), { code_challenge_method: 'S256', redirect_uri: LOGIN_CALLBACK, scope: 'openid profile email', nonce: /^.{43}$/, state: /^.{43}$/ })
  const response = await browser.get((await untilCallback()).href)
  const cookies = [response.headers['set-cookie']].flat().map(String)
  const session = cookies.find(cookie => cookie.startsWith(SESSION))
  t.match(session, /^__Host-mcp-connect-session=Fe26\.2\S+; Path=\/; HttpOnly; Secure; SameSite=Lax$/)
  t.notMatch(session, /alice|employee/)
  t.ok(cookies.some(cookie => /^__Host-mcp-connect-login-[0-9a-f]{16}=; Max-Age=0/.test(cookie)), 'the cookie of the attempt is taken back')
})

t.test('T16 it leads back to our own pages only', async t => {
  const server = await startWithLogin(t)
  const { signIn } = server.person('alice')
  const backFrom = async (query: string): Promise<unknown> => (await signIn(`/connect/login?${query}`)).headers.location
  for (const returnTo of ['https://evil.example/', '//evil.example', '/connect/../admin', '/connect//evil.example', '/login', '/connect/login', '/connect?x=1', '/connect/short', `/connect/${'x'.repeat(43)}/start`, '']) {
    t.equal(await backFrom(`returnTo=${encodeURIComponent(returnTo)}`), '/connect', returnTo)
  }
  const page = `/connect/${'x'.repeat(43)}`
  t.equal(await backFrom(`returnTo=${page}`), page)
  t.equal(await backFrom(`returnTo=${page}&returnTo=/connect/${'y'.repeat(43)}`), '/connect')
})

t.test('T03 login CSRF: an answer that another browser began signs nobody in', async t => {
  const server = await startWithLogin(t)
  const [bob, victim] = [server.person('bob'), server.person('alice')]
  const url = await bob.untilCallback()
  for (const browser of [victim.browser, server.browser(null)]) {
    t.equal(title(await refused(t, server, () => browser.get(url.href), SIGN_IN_INVALID)), 'This sign-in could not be matched')
  }
  // Nor with an attempt of the victim's own under way, nor with its cookie under the name of the other.
  await victim.browser.get('/connect/login')
  await refused(t, server, () => victim.browser.get(url.href), SIGN_IN_INVALID)
  const [[, own]] = [...victim.browser.cookies].filter(([name]) => name.includes('-login-')) as [[string, string]]
  const [[name]] = [...bob.browser.cookies].filter(([name]) => name.includes('-login-')) as [[string, string]]
  victim.browser.cookies.set(name, own)
  await refused(t, server, () => victim.browser.get(url.href), SIGN_IN_INVALID)
  t.equal((await bob.browser.get(url.href)).statusCode, 303, 'and bob still signs in')
})

t.test('T05 STA-01 STA-02 an answer counts once; one without state, with another, too late or of another issuer does not', async t => {
  const server = await startWithLogin(t)
  const { browser, untilCallback } = server.person('alice')
  const url = await untilCallback()
  const change = (parameters: Record<string, string>): string => {
    const changed = new URL(url)
    for (const [name, value] of Object.entries(parameters)) value === '' ? changed.searchParams.delete(name) : changed.searchParams.set(name, value)
    return changed.href
  }
  const cookies = [...browser.cookies]
  const issMismatch: Refusal = { ...SIGN_IN_INVALID, code: 'ISS_MISMATCH' }
  for (const [parameters, refusal] of [
    [{ state: '' }, SIGN_IN_INVALID], [{ state: 'x'.repeat(43) }, SIGN_IN_INVALID], [{ iss: 'https://evil.example' }, issMismatch], [{ iss: '' }, issMismatch], [{ code: '' }, SIGN_IN_INVALID]
  ] as const) {
    await refused(t, server, () => browser.get(change(parameters)), { ...refusal, what: JSON.stringify(parameters) })
    t.strictSame([...browser.cookies], cookies, 'nothing is spent')
  }
  await t.test('too late', async t => {
    advance(t, 10 * MINUTE_MS + 1)
    await refused(t, server, () => browser.get(url.href), SIGN_IN_INVALID)
  })
  const asked = server.authorizationServer.tokenRequests
  const answers = await Promise.all(Array.from({ length: 5 }, () => browser.get(url.href)))
  t.strictSame(answers.map(({ statusCode }) => statusCode), [303, 303, 303, 303, 303], 'a double click is no error')
  t.equal(server.authorizationServer.tokenRequests, asked + 1)
  for (const [name, value] of cookies) browser.cookies.set(name, value)
  browser.cookies.delete(SESSION)
  await browser.get(url.href)
  t.notOk(browser.cookies.has(SESSION), 'with the old cookie neither')
  t.equal(server.authorizationServer.tokenRequests, asked + 1)
})

t.test('that an answer was used is written down without its state', async t => {
  const server = await startWithLogin(t)
  const keys: string[] = []
  const { put } = server.store.state
  t.intercept(server.store.state, 'put', { value: async (...args: Parameters<typeof put>) => { keys.push(args[0]); return await put(...args) } })
  await server.person('alice').signIn()
  t.match(keys.filter(key => key.startsWith('login-claimed')), [/^login-claimed:[0-9a-f]{64}$/])
})

t.test('A26-01 an answer to a request that another registration has made is not taken, even with its cookie', async t => {
  const keys = [randomBytes(32).toString('base64')]
  const [before, after] = [await startWithLogin(t, { keys }), await startWithLogin(t, { keys })]
  const clientOfBefore = await startWithLogin(t, { keys, login: { issuer: before.authorizationServer.issuer, clientId: 'other' } })
  const person = before.person('alice')
  const url = await person.untilCallback()
  for (const server of [after, clientOfBefore]) {
    const { browser } = server.person('alice')
    for (const [name, value] of person.browser.cookies) browser.cookies.set(name, value)
    await refused(t, server, () => browser.get(url.href), SIGN_IN_INVALID)
    t.match(server.log.join(''), /SIGN_IN_INVALID.*it was begun in another browser, with another registration/, 'and the log says why')
  }
  t.equal((await person.browser.get(url.href)).statusCode, 303)
})

t.test('what the authorization server refuses ends in a page, with the way back', async t => {
  const server = await startWithLogin(t)
  const { browser, untilCallback } = server.person('alice')
  const url = await untilCallback(`/connect/login?returnTo=/connect/${'x'.repeat(43)}`)
  url.searchParams.delete('code')
  url.searchParams.set('error', 'access_denied')
  url.searchParams.set('error_description', 'canary')
  const declined: Refusal = { status: 403, code: 'SIGN_IN_DECLINED', event: 'session.refused', user: null, moved: true }
  const page = await refused(t, server, () => browser.get(url.href), declined)
  t.equal(title(page), 'Nobody was signed in')
  t.equal(findLink(page, 'Sign in'), `/connect/login?returnTo=%2Fconnect%2F${'x'.repeat(43)}`)
  t.notMatch(page.body + server.log.join(''), /canary/)
  t.match(server.log.join(''), /"level":30[^\n]*SIGN_IN_DECLINED/, 'the user\'s choice is no fault')
  const other = await untilCallback()
  other.searchParams.delete('code')
  other.searchParams.set('error', 'login_required')
  await refused(t, server, () => browser.get(other.href), { ...declined, status: 502, code: 'SIGN_IN_FAILED', event: 'request.failed' })
  t.match(server.log.join(''), /SIGN_IN_FAILED.*Nobody was signed in: an error of its own/)
  const forged = await untilCallback()
  forged.searchParams.set('code', 'made-up')
  await refused(t, server, () => browser.get(forged.href), { ...SIGN_IN_INVALID, moved: true, tokenCalls: 1, what: 'nor is a code that somebody made up' })
})

t.test('BRW-21 signing out ends the session, whoever still has its cookie', async t => {
  const server = await startWithLogin(t)
  const { browser, signIn } = server.person('alice')
  await signIn()
  const form = findForm(await browser.get('/connect'), '/sign-out')
  const stolen = new Map(browser.cookies)
  await refused(t, server, () => browser.post(form.action, { csrf: 'x' }), { status: 403, code: 'CSRF_FAILED', event: 'csrf.failed', user: alice(server) })
  await refused(t, server, () => browser.get(form.action), { status: 405, code: 'METHOD_NOT_ALLOWED', user: alice(server) })
  const response = await browser.post(form.action, form.fields)
  t.match(response, { statusCode: 303, headers: { location: 'https://mcp.example.com/connect/login/signed-out' } })
  const other = server.person('bob')
  await other.signIn()
  t.match(await other.browser.get(String(response.headers.location)), { statusCode: 303, headers: { location: 'https://mcp.example.com/connect' } }, 'who is signed in is not told otherwise')
  t.notOk(browser.cookies.has(SESSION))
  const page = await browser.get(String(response.headers.location))
  t.equal(title(page), 'Signed out of Example')
  t.match(page.body, new URL(server.authorizationServer.issuer).host)
  t.equal((await browser.get('/connect')).statusCode, 303)

  for (const [name, value] of stolen) browser.cookies.set(name, value)
  t.match(await browser.get('/connect'), { statusCode: 303, headers: { location: /^\/connect\/login/ } })
  await refused(t, server, () => browser.post(form.action, form.fields), { status: 401, code: 'SIGN_IN_REQUIRED', user: null })
})

t.test('BRW-21 forms that were shown before signing out are void, for the same user in the same browser too', async t => {
  const server = await startWithLogin(t)
  const { browser, signIn } = server.person('alice')
  await signIn()
  const page = await browser.get('/connect')
  const [connect, signOut] = [findForm(page, '/acme/connect'), findForm(page, '/sign-out')]
  await browser.post(signOut.action, signOut.fields)
  await signIn()
  await refused(t, server, () => browser.post(connect.action, connect.fields), { status: 403, code: 'CSRF_FAILED', event: 'csrf.failed', user: alice(server) })
  t.equal((await browser.press('/connect', '/acme/connect')).statusCode, 303)
})

t.test('BRW-21 revokeBrowserSessions ends all sessions of one principal, and those of nobody else', async t => {
  const server = await startWithLogin(t)
  const [one, two, bob] = [server.person('alice'), server.person('alice'), server.person('bob')]
  for (const { signIn } of [one, two, bob]) await signIn()
  await server.app.mcpConnect.revokeBrowserSessions(alice(server))
  for (const { browser } of [one, two]) t.equal((await browser.get('/connect')).statusCode, 303)
  t.equal((await bob.browser.get('/connect')).statusCode, 200)
  await one.signIn()
  t.equal((await one.browser.get('/connect')).statusCode, 200, 'and she can sign in again')
  await t.rejects(server.app.mcpConnect.revokeBrowserSessions({ issuer: 'i' } as never), { code: 'FST_MCP_CONNECT_OPTIONS' })
})

t.test('T13 signing in again begins another session, and ends the one before', async t => {
  const server = await startWithLogin(t)
  const { browser, signIn } = server.person('alice')
  await signIn()
  const before = browser.cookies.get(SESSION)!
  await signIn('/connect/login')
  const after = browser.cookies.get(SESSION)!
  t.not(after, before)
  browser.cookies.set(SESSION, before)
  t.equal((await browser.get('/connect')).statusCode, 303)
  browser.cookies.set(SESSION, after)
  t.equal((await browser.get('/connect')).statusCode, 200)
})

t.test('a session ends when it is idle for too long, and at the latest after its lifetime', async t => {
  const server = await startWithLogin(t, { login: { idleTtlMs: 10 * MINUTE_MS, absoluteTtlMs: 30 * MINUTE_MS } })
  const { browser, signIn } = server.person('alice')
  await signIn()
  const statusAfter = async (minutes: number): Promise<number> => {
    let status = 0
    await t.test(`after ${minutes} minutes`, async t => {
      advance(t, minutes * MINUTE_MS)
      status = (await browser.get('/connect')).statusCode
    })
    return status
  }
  for (const minutes of [9, 18, 27]) t.equal(await statusAfter(minutes), 200, 'used every nine minutes')
  t.equal(await statusAfter(30.1), 303)
  await signIn('/connect/login')
  t.equal(await statusAfter(9.9), 200)
  await signIn('/connect/login')
  t.equal(await statusAfter(10.1), 303, 'not used for ten minutes')
})

t.test('BND-01 BND-02 somebody else at the link: the page names who is signed in, and offers to be somebody else', async t => {
  const server = await startWithLogin(t)
  const { url } = await server.elicit(alice(server))
  const person = server.person('bob')
  await person.signIn(url)
  const bob = { ...alice(server), subject: 'employee-2' }
  const page = await refused(t, server, () => person.browser.get(url), { status: 403, code: 'SUBJECT_MISMATCH', event: 'elicitation.subject_mismatch', user: bob })
  t.match(page.body, /Signed in as <strong>bob<\/strong>/)
  const again = findLink(page, 'Sign in with another account')
  t.match(again, /^\/connect\/login\?returnTo=.*&switch=true$/)
  t.match(await person.signIn(again, 'alice'), { statusCode: 303, headers: { location: new URL(url).pathname } })
  t.equal((await person.browser.get(url)).statusCode, 200)
})

t.test('BND-12 a session that ends between the page and the answer: nothing is redeemed, and the user can go on', async t => {
  const server = await startWithLogin(t)
  const { url } = await server.elicit(alice(server))
  const { browser, signIn } = server.person('alice')
  await signIn(url)
  const callback = await server.untilCallback(browser, url)
  await server.app.mcpConnect.revokeBrowserSessions(alice(server))
  const page = await refused(t, server, () => browser.get(callback.href), { status: 401, code: 'SESSION_LOST', event: 'callback.session_missing', user: null })
  t.equal(title(page), 'You are no longer signed in')
  t.equal(findLink(page, 'Start again'), url)
  await signIn(url)
  t.equal((await browser.get(callback.href)).statusCode, 303, 'the answer still counts, once it is sure whose it is')
})

t.test('BRW-20 no seal is taken for that of another cookie', async t => {
  const server = await startWithLogin(t)
  const { browser, signIn } = server.person('alice')
  await signIn()
  await browser.get('/connect')
  await browser.get('/connect/login')
  const session = browser.cookies.get(SESSION)!
  for (const [name, value] of browser.cookies) {
    if (name === SESSION) continue
    const other = server.browser(null)
    other.cookies.set(SESSION, value)
    t.equal((await other.get('/connect')).statusCode, 303, name)
  }
  for (const seal of ['', 'x', session.slice(0, -1), session.replace('Fe26.2', 'Fe26.1')]) {
    browser.cookies.set(SESSION, seal)
    t.equal((await browser.get('/connect')).statusCode, 303)
  }
})

t.test('BRW-20 nor is a seal of another instance of the plugin, with the same keys and store', async t => {
  const options = { keys: [randomBytes(32).toString('base64')], store: memoryStore() }
  const one = await startWithLogin(t, options)
  const other = await startWithLogin(t, { ...options, cookieName: 'second', login: { issuer: one.authorizationServer.issuer } })
  const { browser, untilCallback } = one.person('alice')
  const url = await untilCallback()
  const takenOver = (): TestBrowser => {
    const same = other.browser(null)
    for (const [name, value] of browser.cookies) same.cookies.set(name.replace('mcp-connect', 'second'), value)
    return same
  }
  await refused(t, other, () => takenOver().get(url.href), SIGN_IN_INVALID)
  t.equal((await browser.get(url.href)).statusCode, 303)
  t.equal((await takenOver().get('/connect')).statusCode, 303)
  t.equal((await browser.get('/connect')).statusCode, 200)
})

t.test('T13 a name that browsers do not guard does not become one that they do', async t => {
  const server = await startWithLogin(t)
  const { browser, signIn } = server.person('alice')
  await signIn()
  await server.app.listen({ host: '127.0.0.1', port: 0 })
  const get = async (prefix: string): Promise<string> => {
    const socket = connect((server.app.server.address() as AddressInfo).port, '127.0.0.1')
    socket.write(Buffer.from(`GET /connect HTTP/1.1\r\nHost: x\r\nConnection: close\r\nCookie: a=b;${prefix}${SESSION}=${browser.cookies.get(SESSION)!}\r\n\r\n`, 'latin1'))
    return (await text(socket)).split('\r\n')[0]!
  }
  t.match(await get(' '), ' 200 ')
  t.match(await get(`x${' '.repeat(14_000)}y;`), ' 200 ', 'blanks are no work')
  t.match(await get('\t '), ' 200 ')
  for (const blank of ['\u00a0', '\u00a0 ', ' \u0085']) t.match(await get(blank), ' 303 ', JSON.stringify(blank))
})

t.test('T15 a session that another registration has begun is none here', async t => {
  const options = { keys: [randomBytes(32).toString('base64')], store: memoryStore() }
  const before = await startWithLogin(t, options)
  const { browser, signIn } = before.person('alice')
  await signIn()
  const { issuer } = before.authorizationServer
  for (const [login, statusCode] of [
    [{ issuer }, 200], [{ issuer, clientId: 'other' }, 303], [{ issuer, resource: `${BASE_URL}/mcp` }, 303], [{}, 303]     // without one: that of its own server
  ] as Array<[Partial<OidcLoginOptions>, number]>) {
    const server = await startWithLogin(t, { ...options, login })
    t.equal((await server.browser(null).get('/connect', { cookie: `${SESSION}=${browser.cookies.get(SESSION)!}` })).statusCode, statusCode, JSON.stringify(login))
  }
})

t.test('T13 a session cookie that comes twice is refused', async t => {
  const server = await startWithLogin(t)
  const { browser, signIn } = server.person('alice')
  await signIn()
  const cookie = `${SESSION}=${browser.cookies.get(SESSION)!}`
  await refused(t, server, () => server.browser(null).get('/connect', { cookie: `${cookie}; ${cookie}` }), { status: 400, code: 'COOKIE_INVALID' })
})

t.test('an authorization server that is away, or refuses this server, is told as that', async t => {
  const server = await startWithLogin(t, { login: { clientSecret: 'another-secret' } })
  const { untilCallback, browser } = server.person('alice')
  const failed: Refusal = { status: 502, code: 'SIGN_IN_FAILED', event: 'request.failed', user: null }
  const url = await untilCallback()
  await refused(t, server, () => browser.get(url.href), { ...failed, moved: true, tokenCalls: 1 })
  t.match(server.log.join(''), /Nobody was signed in: .*invalid_client/)
  await server.authorizationServer.close()
  t.equal((await browser.get('/connect/login')).statusCode, 303, 'its metadata is known')
  const away = await startWithLogin(t, { login: { issuer: server.authorizationServer.issuer } })
  const page = await refused(t, away, () => away.browser(null).get('/connect/login'), failed)
  t.equal(title(page), 'Signing in did not work')
  t.match(away.log.join(''), /Nobody was signed in: the login .* cannot be reached: network_error \(ECONNREFUSED\)/)
})

t.test('revokeBrowserSessions is for oidcLogin', async t => {
  const server = await startWithLogin(t, { browser: { identify: () => null } })
  await t.rejects(server.app.mcpConnect.revokeBrowserSessions(alice(server)), { code: 'FST_MCP_CONNECT_OPTIONS', message: /login of your own/ })
  t.equal((await server.browser(null).get('/connect/login')).statusCode, 404)
})
