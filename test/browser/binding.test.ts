import t from 'tap'
import { authorizationUrl, findForm, title } from '../fixtures/browser.js'
import { refused, type Refusal } from '../fixtures/refused.js'
import { A, A2, A3, B, startServer } from '../fixtures/server.js'

const SUBJECT_MISMATCH: Refusal = { status: 403, code: 'SUBJECT_MISMATCH', event: 'elicitation.subject_mismatch', owner: A }

t.test('the whole way: link, page, provider, done page, tool', async t => {
  const server = await startServer(t)
  const { url, session } = await server.elicit(A)
  const browser = server.browser(A)
  const callback = await server.untilCallback(browser, url)
  const answer = await browser.get(callback.href)
  t.equal(answer.statusCode, 303)
  t.equal(answer.headers.location, `${url}/done`)
  t.equal(title(await browser.get(`${url}/done`)), 'Acme is connected')
  t.match(await session.client.callTool({ name: 'issues' }), { content: [{ text: /rabbit hole.*Alice at Acme/ }] })
  t.equal(server.acme.tokenRequests, 1)
})

t.test('BND-01 another user opens the link: 403, and the owner still finishes', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  for (const user of [B, A3]) {
    const { body } = await refused(t, server, () => server.browser(user).get(url), SUBJECT_MISMATCH)
    t.notMatch(body, /Acme|issues/)
    t.match(body, `Signed in as <strong>${user.label}</strong>`, 'people see which account they are in')
    t.match(body, `href="/login?returnTo&#61;${encodeURIComponent(new URL(url).pathname)}">Sign in with another account`)
  }
  const browser = server.browser(A)
  t.equal((await browser.get((await server.untilCallback(browser, url)).href)).statusCode, 303)
  t.match(server.log.join(''), 'differ in: issuer. If they are the same person', 'the operator reads in what they differ')
})

t.test('BND-01 a link of another tenant is a link to nothing', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const notFound: Refusal = { status: 404, code: 'NOT_FOUND' }
  const foreign = await refused(t, server, () => server.browser(A2).get(url), { ...notFound, event: 'elicitation.subject_mismatch', owner: A })
  const unknown = await refused(t, server, () => server.browser(A2).get(`/connect/${'x'.repeat(43)}`), notFound)
  t.equal(foreign.body, unknown.body)
})

t.test('BND-02 nobody is signed in: sign-in first, then as another user', async t => {
  const server = await startServer(t)
  const { url, id } = await server.elicit(A)
  const browser = server.browser(null)
  const answer = await browser.get(url)
  t.equal(answer.statusCode, 303)
  t.equal(answer.headers.location, `/login?returnTo=${encodeURIComponent(`/connect/${id}`)}`)
  t.notMatch(answer.body, /Acme|issues/)
  browser.user = B
  await refused(t, server, () => browser.get(url), SUBJECT_MISMATCH)
})

t.test('BND-03 another user completes the authorization URL: 403, no token request', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const alice = server.browser(A)
  const callback = await server.untilCallback(alice, url)
  const answer = await refused(t, server, () => server.browser(B).get(callback.href), SUBJECT_MISMATCH)
  t.equal(title(answer), 'This link is for another account')
  t.equal((await alice.get(callback.href)).statusCode, 303, 'the owner still finishes')
})

t.test('BND-04 the authorization response comes to a browser in which nobody is signed in', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const alice = server.browser(A)
  const callback = await server.untilCallback(alice, url)
  // Nor is the code parked in the page: the watch over the test would find it.
  await refused(t, server, () => server.browser(null).get(callback.href), { status: 401, code: 'SIGN_IN_REQUIRED', event: 'callback.session_missing' })
  t.equal((await alice.get(callback.href)).statusCode, 303)
})

t.test('BND-05 the authorization response comes to another browser of the same user', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const first = server.browser(A)
  const callback = await server.untilCallback(first, url)
  const second = server.browser(A)
  await second.get('/connect')
  const cookieMissing: Refusal = { status: 403, code: 'FLOW_COOKIE_MISSING', event: 'callback.flow_cookie_missing' }
  t.equal(title(await refused(t, server, () => second.get(callback.href), cookieMissing)), 'This was started in another browser')
  for (const madeUp of ['A'.repeat(43), callback.searchParams.get('state')!, '']) {
    for (const [name] of first.cookies) if (name.includes('flow')) second.cookies.set(name, madeUp)
    await refused(t, server, () => second.get(callback.href), cookieMissing)
  }
  t.equal((await first.get(callback.href)).statusCode, 303)
})

t.test('BND-07 a visitor that only follows links never reaches the provider, and sees account and host', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const answer = await server.browser(A).get(url)
  t.equal(answer.statusCode, 200)
  t.equal(answer.headers.location, undefined)
  t.notMatch(answer.body, /http-equiv|<a [^>]*href/, 'no way on but the buttons')
  t.match(answer.body, 'Continue only if you started this yourself just now. If somebody sent you this link, decline.')
  t.match(answer.body, 'a@example.com')
  t.match(answer.body, new URL(server.acme.issuer).host)
  t.equal(server.acme.authorizationRequests, 0)
})

t.test('BND-08 the id in the path is swapped for another user\'s', async t => {
  const server = await startServer(t)
  const own = await server.elicit(A)
  const foreign = await server.elicit(B)
  const browser = server.browser(A)
  const form = findForm(await browser.get(own.url), '/start')
  await refused(t, server, () => browser.post(form.action.replace(own.id, foreign.id), form.fields), { ...SUBJECT_MISMATCH, owner: B })
  t.equal((await server.browser(B).press(foreign.url, '/start')).statusCode, 200)
  t.equal((await browser.press(own.url, '/start')).statusCode, 200)
})

t.test('BND-09 parameters of the link are ignored', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const query = '?sub=b&tenant=T2&provider=other&redirect_uri=https%3A%2F%2Fx.example&user=b'
  const browser = server.browser(A)
  const form = findForm(await browser.get(url + query), '/start')
  const request = authorizationUrl(await browser.post(form.action + query, form.fields))
  t.equal(request.searchParams.get('redirect_uri'), 'https://mcp.example.com/connect/callback/acme')
  await refused(t, server, () => server.browser(B).get(url + query), SUBJECT_MISMATCH)
})

t.test('BND-11 another user signs in, in the same browser, between start and callback', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  const callback = await server.untilCallback(browser, url)
  browser.user = B
  t.equal(title(await refused(t, server, () => browser.get(callback.href), SUBJECT_MISMATCH)), 'This link is for another account')
  browser.user = A
  t.equal((await browser.get(callback.href)).statusCode, 303)
})

t.test('BND-15 the link holds an opaque id and nothing else, and opens nothing by itself', async t => {
  const server = await startServer(t)
  const { url, id } = await server.elicit(A)
  t.equal(url, `https://mcp.example.com/connect/${id}`)
  t.match(id, /^[\w-]{43}$/)
  t.equal((await server.browser(null).get(url)).statusCode, 303)
})

t.test('BND-16 no authenticated user: refused, no record, no link', async t => {
  const server = await startServer(t)
  for (const claims of [undefined, {}, { iss: 'https://login.example.com' }, { iss: '', sub: 'a' }, { iss: 'https://login.example.com', sub: 7 }]) {
    const session = await server.openSession({ ...claims !== undefined && { claims } })
    const result = await session.client.callTool({ name: 'issues' })
    t.equal(result.isError, true)
    t.notMatch(JSON.stringify(result), /https?:/)
  }
  for (const fault of ['without verified claims', 'gave no issuer and subject']) t.match(server.log.join(''), new RegExp(`${fault}.*authInfo.extra`), 'the operator is told the mend')
  t.equal(await server.vaultRows(), '[]')
})

t.test('BND-17 a user id in arguments, _meta or clientInfo has no effect', async t => {
  const server = await startServer(t)
  const session = await server.openSession({ user: A, clientName: 'b' })
  const error = await session.client.callTool({ name: 'issues', arguments: { userId: 'b', sub: 'b' }, _meta: { sub: 'b', userId: 'b' } }).catch(error => error)
  const { url } = error.elicitations[0]
  await refused(t, server, () => server.browser(B).get(url), SUBJECT_MISMATCH)
  t.equal((await server.browser(A).get(url)).statusCode, 200)
})
