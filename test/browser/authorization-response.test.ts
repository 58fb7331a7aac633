import t from 'tap'
import { authorizationUrl, title } from '../fixtures/browser.js'
import { advance } from '../fixtures/clock.js'
import { refuse } from '../fixtures/refuse.js'
import { A, B, startServer } from '../fixtures/server.js'

const OTHER_ISSUER = 'https://attacker.example.com'

t.test('OAR-01 the response names another issuer', async t => {
  await refuse(t, await startServer(t), url => url.searchParams.set('iss', OTHER_ISSUER), 400)
})

t.test('OAR-02 the issuer is missing though the server announces it', async t => {
  await refuse(t, await startServer(t), url => url.searchParams.delete('iss'), 400)
})

t.test('OAR-05 another issuer with an error: nothing of it is acted on or shown', async t => {
  const { body } = await refuse(t, await startServer(t), url => {
    url.searchParams.set('iss', OTHER_ISSUER)
    url.searchParams.set('error', 'access_denied')
    url.searchParams.set('error_description', 'call 555-0100')
  }, 400)
  t.notMatch(body, /attacker|access_denied|555-0100/)
})

t.test('OAR-06 the user refuses at the provider', async t => {
  const server = await startServer(t)
  const { url, session } = await server.elicit(A)
  const browser = server.browser(A)
  const callback = await server.untilCallback(browser, url, 'deny')
  t.equal((await browser.get(callback.href)).headers.location, `${url}/done`)
  t.equal(title(await browser.get(`${url}/done`)), 'Declined')
  t.equal(server.acme.tokenRequests, 0)
  t.equal((await browser.get(url)).statusCode, 409, 'the link is used up')

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
  const server = await startServer(t)
  await refuse(t, server, url => { url.search = '?error=access_denied' }, 400)
  await refuse(t, await startServer(t), url => { url.search = `?error=access_denied&state=${'x'.repeat(43)}` }, 400)
  const second = await startServer(t)
  const { url } = await second.elicit(A)
  const browser = second.browser(A)
  const callback = await second.untilCallback(browser, url)
  const denied = new URL(callback)
  denied.searchParams.delete('code')
  denied.searchParams.set('error', 'access_denied')
  t.equal((await second.browser(A).get(denied.href)).statusCode, 403)
  t.equal((await second.browser(null).get(denied.href)).statusCode, 401)
  t.equal((await browser.get(callback.href)).statusCode, 303)
})

t.test('OAR-09 no code, an empty one, two', async t => {
  for (const alter of [
    (url: URL) => url.searchParams.delete('code'),
    (url: URL) => url.searchParams.set('code', ''),
    (url: URL) => url.searchParams.append('code', 'b')
  ]) await refuse(t, await startServer(t), alter, 400)
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
  const answer = await browser.get(callback.href)
  t.equal(answer.statusCode, 502)
  t.equal(title(answer), 'The provider refused')
  t.match(server.log.join(''), 'refused the authorization request: an error of its own')
  t.notMatch(answer.body, 'hostile')
  t.notMatch(server.log.join(''), 'hostile')
  t.match(answer.body, `href="${url}">Start again`)
  t.equal((await browser.get((await server.untilCallback(browser, url)).href)).statusCode, 303)
})

t.test('OAR-12 responses by form_post are not taken', async t => {
  const server = await startServer(t)
  const answer = await server.browser(A).post('/connect/callback/acme', { code: 'canary-code', state: 'canary-state' })
  t.equal(answer.statusCode, 405)
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

t.test('REC-12 the code is refused: 502, nothing stored, the link still works, and no secret in the log', async t => {
  const server = await startServer(t)
  const { url, session } = await server.elicit(A)
  const browser = server.browser(A)
  const callback = await server.untilCallback(browser, url)
  const code = callback.searchParams.get('code')!
  callback.searchParams.set('code', `${code}x`)
  const answer = await browser.get(callback.href)
  t.equal(answer.statusCode, 502)
  t.equal(server.acme.tokenRequests, 1)
  t.equal(await server.vaultRows(), '[]')
  t.strictSame(session.completed, [])
  t.equal((await browser.get(callback.href)).statusCode, 409, 'the flow is spent')
  t.equal(server.acme.tokenRequests, 1, 'and no code is sent twice')
  t.match(server.log.join(''), 'invalid_grant', 'the operator reads why')
  t.notMatch(server.log.join(''), code)
  t.notMatch(server.log.join(''), callback.searchParams.get('state')!)
  t.equal((await browser.get((await server.untilCallback(browser, url)).href)).statusCode, 303)
})

t.test('an answer that comes after the user has declined in another tab changes nothing', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  const callback = await server.untilCallback(browser, url)
  await browser.press(url, '/decline')
  t.equal((await browser.get(callback.href)).statusCode, 409)
  t.equal(server.acme.tokenRequests, 0)
  t.equal(title(await browser.get(`${url}/done`)), 'Declined')
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
