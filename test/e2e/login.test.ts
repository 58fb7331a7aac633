import { randomBytes } from 'node:crypto'
import type { Configuration } from 'oidc-provider'
import type { Browser, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { HttpBrowser } from '../../examples/demo/http-browser.js'
import { startDemo, type Demo } from '../../examples/demo/start.js'
import type { UrlRequest } from '../../examples/demo/terminal-client.js'
import { visit } from '../../examples/demo/visitor.js'
import { allowLoopbackHttp, oidcLogin } from '../../lib/index.js'
import type { McpConnectOptions } from '../../lib/types.js'
import { findChromium, launchChromium, openBrowser } from '../fixtures/chromium.js'
import { consentAtAcme, openClient } from '../fixtures/demo-people.js'
import { leaveOut } from '../fixtures/leave-out.js'

t.setTimeout(600_000)

const executablePath = findChromium()
if (executablePath !== undefined) {
  await run(executablePath)
} else {
  leaveOut(t, 'oidcLogin in a real browser', 'install Chromium, or set CHROMIUM_PATH to one')
}

/** The demo with oidcLogin in place of the app's own login. */
async function startWithLogin (t: Test, { connect, settings, client }: {
  connect?: Partial<McpConnectOptions>, settings?: Configuration, client?: object
} = {}): Promise<Demo> {
  const web = { clientId: 'web', clientSecret: randomBytes(32).toString('base64url') }
  const demo = await startDemo({
    connect: issuer => ({ browser: oidcLogin({ issuer, ...web, [allowLoopbackHttp]: true }), ...connect }),
    ...settings !== undefined && { authorizationServer: settings }
  })
  t.teardown(() => demo.close())
  await demo.authorizationServer.registerClient({
    client_id: web.clientId,
    client_secret: web.clientSecret,
    client_name: 'Connections',
    redirect_uris: [`${demo.baseUrl}/connect/login/callback`],
    token_endpoint_auth_method: 'client_secret_basic',
    ...client
  })
  if (client !== undefined) {
    const { clientId, redirectUri } = demo.client
    await demo.authorizationServer.registerClient({
      client_id: clientId, application_type: 'native', token_endpoint_auth_method: 'none', redirect_uris: [redirectUri], ...client
    })
  }
  return demo
}

/** Alice's client asks for a connection. */
async function elicit (t: Test, demo: Demo): Promise<{ url: string, result: () => Promise<object>, completed: () => Promise<void> }> {
  const client = await openClient(t, demo)
  const answer = await client.callTool('list-issues', { state: 'open' })
  if (answer.kind !== 'url') throw new Error('the tool did not ask')
  const [{ url, elicitationId }] = answer.requests as readonly [UrlRequest]
  return { url, result: () => client.callTool('list-issues', { state: 'open' }), completed: () => client.completed(elicitationId, { timeoutMs: 60_000 }) }
}

/** At the authorization server. */
async function signIn (page: Page, demo: Demo, login: string): Promise<void> {
  await page.waitForURL(`${demo.authorizationServer.issuer}/interaction/*`)
  await page.fill('input[name=login]', login)
  await page.click('button[type=submit]')
  await page.click('button[value=allow]')
}

async function finish (page: Page, demo: Demo, url: string): Promise<void> {
  await page.click('text=Continue to Acme')
  await page.waitForURL(`${demo.acme.issuer}/**`)
  await consentAtAcme(page)
  await page.waitForURL(`${url}/done`)
}

const heading = async (page: Page): Promise<string | null> => await page.textContent('h1')

async function run (executablePath: string): Promise<void> {
  const browser: Browser = await launchChromium(executablePath)
  t.teardown(() => browser.close())

  t.test('from the link through the login to a connection', async t => {
    const demo = await startWithLogin(t)
    const { url, result, completed } = await elicit(t, demo)
    const { page, complaints } = await openBrowser(t, browser)
    await page.goto(url)
    await signIn(page, demo, 'alice')
    await page.waitForURL(url)
    t.match(await page.textContent('dl'), /Your account here\s*alice/)
    await finish(page, demo, url)
    await completed()
    t.match(await result(), { kind: 'result', isError: false, text: /rabbit hole/ })
    t.strictSame(complaints, [])
    const cdp = await page.context().newCDPSession(page)
    const { entries } = await cdp.send('Page.getNavigationHistory')
    for (const { url } of entries) if (url.startsWith(demo.baseUrl)) t.notMatch(url, /code=|state=/)
  })

  t.test('BND-02 the wrong account: the page says so, and the right one is a click away', async t => {
    const demo = await startWithLogin(t)
    const { url, result } = await elicit(t, demo)
    const { page } = await openBrowser(t, browser)
    const refusal = page.waitForResponse(response => response.url() === url && response.status() === 403)
    await page.goto(url)
    await signIn(page, demo, 'bob')
    await refusal
    await page.waitForURL(url)
    t.equal(await heading(page), 'This link is for another account')
    t.match(await page.textContent('main'), 'Signed in as bob')
    t.equal(demo.acme.authorizationRequests, 0)
    await page.click('text=Sign in with another account')
    await signIn(page, demo, 'alice')
    await page.waitForURL(url)
    await finish(page, demo, url)
    t.match(await result(), { kind: 'result', isError: false })

    await t.test('and back, from the connections page', async t => {
      await page.goto(`${demo.baseUrl}/connect`)
      t.match(await page.textContent('main'), /Signed in as alice.*Connected since/s)
      await page.click('text=use another account')
      await signIn(page, demo, 'bob')
      await page.waitForURL(`${demo.baseUrl}/connect`)
      t.match(await page.textContent('main'), /Signed in as bob.*Not connected/s)
    })
  })

  t.test('BRW-21 who signs out is out, whoever has kept the cookie', async t => {
    const demo = await startWithLogin(t)
    const { page, context } = await openBrowser(t, browser)
    await page.goto(`${demo.baseUrl}/connect`)
    await signIn(page, demo, 'alice')
    await page.waitForURL(`${demo.baseUrl}/connect`)
    const cookies = await context.cookies(demo.baseUrl)
    const stolen = cookies.filter(({ name }) => name === 'mcp-connect-session')
    t.match(stolen, [{ httpOnly: true, sameSite: 'Lax' }])
    const thief = await openBrowser(t, browser)
    await thief.context.addCookies(stolen)
    await thief.page.goto(`${demo.baseUrl}/connect`)
    t.match(await thief.page.textContent('main'), 'Signed in as alice', 'until then it is good for whoever has it')

    await page.click('text=Sign out')
    t.match(await heading(page), 'Signed out of Example Corp')
    await thief.page.goto(`${demo.baseUrl}/connect`)
    await thief.page.waitForURL(`${demo.authorizationServer.issuer}/interaction/*`)
    await page.click('text=Sign in again')
    await page.waitForURL(`${demo.baseUrl}/connect`)
    t.match(await page.textContent('main'), 'Signed in as alice')
  })

  t.test('T03 login CSRF: Bob\'s answer signs Alice\'s browser in as nobody', async t => {
    const demo = await startWithLogin(t)
    const alice = await openBrowser(t, browser)
    // Bob's browser stops where his own answer begins.
    const { url } = await visit(new HttpBrowser([`${demo.baseUrl}/connect/login/callback`]), `${demo.baseUrl}/connect`, { login: '', password: '', acmeLogin: 'bob' })
    const answer = url.href
    t.match(answer, /code=/)
    t.equal((await alice.page.goto(answer))?.status(), 400)
    t.equal(await heading(alice.page), 'This sign-in could not be matched')
    await alice.page.goto(`${demo.baseUrl}/connect`)
    await signIn(alice.page, demo, 'alice')
    await alice.page.waitForURL(`${demo.baseUrl}/connect`)
    t.match(await alice.page.textContent('main'), 'Signed in as alice')
  })

  t.test('BND-12 a session that ends while the user is at the provider', async t => {
    const demo = await startWithLogin(t)
    const { url, result } = await elicit(t, demo)
    const { page } = await openBrowser(t, browser)
    await page.goto(url)
    await signIn(page, demo, 'alice')
    await page.click('text=Continue to Acme')
    await page.waitForURL(`${demo.acme.issuer}/**`)
    await demo.app.mcpConnect.revokeBrowserSessions({ issuer: demo.authorizationServer.issuer, subject: 'employee-1' })
    const refusal = page.waitForResponse(response => response.url().startsWith(`${demo.baseUrl}/connect/callback/acme?`))
    await consentAtAcme(page)
    t.equal((await refusal).status(), 401)
    await page.waitForLoadState()
    t.equal(await heading(page), 'You are no longer signed in')
    t.equal(demo.acme.tokenRequests, 0)

    await page.getByRole('link', { name: 'Start again' }).click()
    await page.waitForURL(url)
    await page.click('text=Continue to Acme')
    await page.waitForURL(`${url}/done`)
    t.match(await result(), { kind: 'result', isError: false }, 'both servers know her still')
  })

  t.test('with an authorization server that has another subject for each client', async t => {
    const demo = await startWithLogin(t, {
      settings: {
        subjectTypes: ['pairwise', 'public'],
        pairwiseIdentifier: async (_context, accountId, client) => `${accountId}-for-${client.clientId}`,
        extraTokenClaims: async (_context, token) => ({ uid: 'accountId' in token ? token.accountId : undefined }),
        claims: { openid: ['sub', 'uid'], profile: ['preferred_username'] },
        findAccount: async (_context, accountId) => ({ accountId, claims: async () => ({ sub: accountId, uid: accountId, preferred_username: `login of ${accountId}` }) })
      },
      client: { subject_type: 'pairwise' },
      connect: { principal: claims => ({ issuer: claims['iss'], subject: claims['uid'] }) }
    })
    const { url, result } = await elicit(t, demo)
    const [alice, bob] = [await openBrowser(t, browser), await openBrowser(t, browser)]
    await bob.page.goto(url)
    await signIn(bob.page, demo, 'bob')
    await bob.page.waitForURL(url)
    t.equal(await heading(bob.page), 'This link is for another account')
    await alice.page.goto(url)
    await signIn(alice.page, demo, 'alice')
    await alice.page.waitForURL(url)
    t.match(await alice.page.textContent('dl'), 'login of employee-1')
    await finish(alice.page, demo, url)
    t.match(await result(), { kind: 'result', isError: false })
  })
}
