import t from 'tap'
import { authorizationUrl, title } from '../fixtures/browser.js'
import { advance } from '../fixtures/clock.js'
import { refused, refusedResponse, type Refusal } from '../fixtures/refused.js'
import { A, B, startServer } from '../fixtures/server.js'

const OTHER_ISSUER = 'https://attacker.example.com'

const ISS_MISMATCH: Refusal = { status: 400, code: 'ISS_MISMATCH', event: 'callback.iss_mismatch' }
const STATE_INVALID: Refusal = { status: 400, code: 'STATE_INVALID', event: 'callback.state_invalid' }
const CONSUMED: Refusal = { status: 409, code: 'CONSUMED' }

t.test('OAR-01 the response names another issuer', async t => {
  await refusedResponse(t, await startServer(t), url => url.searchParams.set('iss', OTHER_ISSUER), ISS_MISMATCH)
})

t.test('OAR-02 the issuer is missing though the server announces it', async t => {
  await refusedResponse(t, await startServer(t), url => url.searchParams.delete('iss'), ISS_MISMATCH)
})

t.test('OAR-05 another issuer with an error: nothing of it is acted on or shown', async t => {
  const { body } = await refusedResponse(t, await startServer(t), url => {
    url.searchParams.set('iss', OTHER_ISSUER)
    url.searchParams.set('error', 'access_denied')
    url.searchParams.set('error_description', 'call 555-0100')
  }, ISS_MISMATCH)
  t.notMatch(body, /attacker|access_denied|555-0100/)
})

t.test('OAR-06 the user refuses at the provider', async t => {
  const server = await startServer(t)
  const { url, session } = await server.elicit(A)
  const browser = server.browser(A)
  const callback = await server.untilCallback(browser, url, 'deny')
  t.equal((await browser.get(callback.href)).headers.location, `${url}/done`)
  t.match(server.log.join(''), 'the provider answered access_denied', 'the operator hears of it: scopes or registration may be to blame')
  t.equal(title(await browser.get(`${url}/done`)), 'Declined')
  t.equal(server.acme.tokenRequests, 0)
  await refused(t, server, () => browser.get(url), CONSUMED)

  for (let i = 0; i < 3; i++) {
    const result = await session.client.callTool({ name: 'issues' })
    t.match(result, { isError: true, content: [{ text: /Connecting Acme was declined\..*https:\/\/mcp.example.com\/connect and/ }] })
  }
  t.equal((await browser.press('/connect', '/acme/connect')).statusCode, 303, 'the user can begin again on the connections page')
  advance(t, 5 * 60_000 + 1000)
  t.not((await server.elicit(A)).url, url, 'after the cool-down the tool asks again, with a new link')
})

t.test('a decline on our own page does the same, and is of one client alone', async t => {
  const server = await startServer(t)
  const { url, session } = await server.elicit(A)
  const browser = server.browser(A)
  const answer = await browser.press(url, '/decline')
  t.equal(answer.statusCode, 303)
  t.equal(title(await browser.get(answer.headers.location!)), 'Declined')
  t.match(await session.client.callTool({ name: 'issues' }), { isError: true, content: [{ text: /declined/ }] })
  t.same(session.completed, [url.split('/').at(-1)], 'a client that waits without a time limit is told')
  await t.resolves(server.elicit(A, { clientId: 'client-2' }))
  await t.resolves(server.elicit(B))
})

t.test('OAR-07 an error without the right state, or without the flow cookie, changes nothing', async t => {
  await refusedResponse(t, await startServer(t), url => { url.search = '?error=access_denied' }, STATE_INVALID)
  await refusedResponse(t, await startServer(t), url => { url.search = `?error=access_denied&state=${'x'.repeat(43)}` }, STATE_INVALID)
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  const callback = await server.untilCallback(browser, url)
  const denied = new URL(callback)
  denied.searchParams.delete('code')
  denied.searchParams.set('error', 'access_denied')
  await refused(t, server, () => server.browser(A).get(denied.href), { status: 403, code: 'FLOW_COOKIE_MISSING', event: 'callback.flow_cookie_missing' })
  await refused(t, server, () => server.browser(null).get(denied.href), { status: 401, code: 'SIGN_IN_REQUIRED', event: 'callback.session_missing' })
  t.equal((await browser.get(callback.href)).statusCode, 303)
})

t.test('OAR-09 no code, an empty one, two', async t => {
  for (const alter of [
    (url: URL) => url.searchParams.delete('code'),
    (url: URL) => url.searchParams.set('code', ''),
    (url: URL) => url.searchParams.append('code', 'b')
  ]) await refusedResponse(t, await startServer(t), alter, { status: 400, code: 'RESPONSE_INVALID', event: 'callback.response_invalid' })
})

t.test('OAR-10 other errors, long and hostile: fixed text, and the link can be tried again', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  const callback = await server.untilCallback(browser, url)
  callback.searchParams.delete('code')
  callback.searchParams.set('error', '<b>hostile</b>')
  callback.searchParams.set('error_description', '<script>hostile()</script>'.repeat(400))
  callback.searchParams.set('error_uri', 'javascript:hostile()')
  const answer = await refused(t, server, () => browser.get(callback.href), { status: 502, code: 'PROVIDER_REFUSED', event: 'request.failed', moved: true })
  t.equal(title(answer), 'The provider refused')
  t.match(server.log.join(''), 'refused the authorization request: an error of its own')
  t.notMatch(answer.body, 'hostile')
  t.notMatch(server.log.join(''), 'hostile')
  t.match(answer.body, `href="${url}">Start again`)
  t.equal((await browser.get((await server.untilCallback(browser, url)).href)).statusCode, 303)
})

t.test('OAR-12 responses by form_post are not taken', async t => {
  const server = await startServer(t)
  const response = { code: 'canary-code', state: 'canary-state' }
  const answer = await refused(t, server, () => server.browser(A).post('/connect/callback/acme', response), { status: 405, code: 'METHOD_NOT_ALLOWED' })
  t.equal(answer.headers['allow'], 'GET')
  t.notMatch(answer.body + server.log.join(''), 'canary')
})

t.test('OAR-13 the authorization request', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const { searchParams } = authorizationUrl(await server.browser(A).press(url, '/start'))
  t.equal(searchParams.get('response_type'), 'code')
  t.equal(searchParams.get('code_challenge_method'), 'S256')
  t.match(searchParams.get('code_challenge'), /^[\w-]{43}$/)
  t.equal(searchParams.get('redirect_uri'), 'https://mcp.example.com/connect/callback/acme')
  t.equal(searchParams.get('scope'), 'issues:read')
  t.equal(searchParams.get('client_id'), server.acme.clientId)
  t.notOk(searchParams.has('client_secret'))
  t.notOk(searchParams.has('resource'))
})

t.test('further parameters of the provider go along', async t => {
  const server = await startServer(t, { acme: { authorizationParameters: { prompt: 'consent' } } })
  const { url } = await server.elicit(A)
  t.equal(authorizationUrl(await server.browser(A).press(url, '/start')).searchParams.get('prompt'), 'consent')
})

t.test('OAR-32 a configured resource indicator goes along', async t => {
  const server = await startServer(t, { acme: { resource: 'https://api.acme.example' } })
  const { url } = await server.elicit(A)
  t.equal(authorizationUrl(await server.browser(A).press(url, '/start')).searchParams.get('resource'), 'https://api.acme.example')
})

t.test('REC-12 the code is refused: 502, nothing stored, and the link still works', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  const callback = await server.untilCallback(browser, url)
  callback.searchParams.set('code', `${callback.searchParams.get('code')}x`)
  await refused(t, server, () => browser.get(callback.href), {
    status: 502, code: 'EXCHANGE_FAILED', event: 'request.failed', before: ['exchange.started', 'exchange.refused'], tokenCalls: 1, moved: true
  })
  t.match(server.log.join(''), 'invalid_grant', 'the operator reads why')
  // The flow is spent, and no code is sent twice.
  await refused(t, server, () => browser.get(callback.href), { ...CONSUMED, event: 'callback.replay' })
  t.equal((await browser.get((await server.untilCallback(browser, url)).href)).statusCode, 303)
})

t.test('an answer that comes after the user has declined in another tab changes nothing', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  const callback = await server.untilCallback(browser, url)
  await browser.press(url, '/decline')
  await refused(t, server, () => browser.get(callback.href), { ...CONSUMED, event: 'callback.replay' })
  t.equal(title(await browser.get(`${url}/done`)), 'Declined')
})

t.test('a provider that no longer takes a scope: the page says how to get rid of it, and the user has declined nothing', async t => {
  const server = await startServer(t)
  const { url, session } = await server.elicit(A)
  const browser = server.browser(A)
  const callback = await server.untilCallback(browser, url)
  callback.searchParams.delete('code')
  callback.searchParams.set('error', 'invalid_scope')
  const answer = await refused(t, server, () => browser.get(callback.href), {
    status: 502, code: 'SCOPE_REFUSED', event: 'request.failed', before: ['elicitation.failed'], moved: true, completions: 1
  })
  t.match(answer.body, /Disconnect it on your connections page.*Your connections/s)
  const { elicitations: [asked] } = await session.client.callTool({ name: 'issues' }).catch(error => error)
  t.match(asked.url, /^https:/, 'asked again')
  t.not(asked.url, url)
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
