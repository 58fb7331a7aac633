import type { Page } from 'playwright-core'
import t from 'tap'
import { startDemo } from '../../examples/demo/start.js'
import type { UrlRequest } from '../../examples/demo/terminal-client.js'
import { findChromium, launchChromium, openBrowser } from '../fixtures/chromium.js'
import { consentAtAcme, openClient } from '../fixtures/demo-people.js'
import { leaveOut } from '../fixtures/leave-out.js'

t.setTimeout(600_000)

const executablePath = findChromium()

/** UPDATE_SCREENSHOTS=1 renews those that the documentation shows. */
async function screenshot (page: Page, name: string): Promise<void> {
  if (process.env['UPDATE_SCREENSHOTS'] === '1') await page.screenshot({ path: `docs/${name}.png` })
}

if (executablePath !== undefined) {
  await run(executablePath)
} else {
  leaveOut(t, 'in a real browser', 'install Chromium, or set CHROMIUM_PATH to one')
}

async function signIn (page: Page, login: string): Promise<void> {
  await page.fill('input[name=login]', login)
  await page.fill('input[name=password]', 'demo')
  await page.click('button[type=submit]')
}

async function run (executablePath: string): Promise<void> {
  const browser = await launchChromium(executablePath)
  t.teardown(() => browser.close())

  t.test('a client gets -32042, the person connects, every session that was handed the link is told, the retry gets data', async t => {
    const demo = await startDemo()
    t.teardown(() => demo.close())
    const [first, second] = [await openClient(t, demo), await openClient(t, demo)]
    const answer = await first.callTool('list-issues', { state: 'open' })
    if (answer.kind !== 'url') return t.fail('the tool did not ask')
    t.equal(answer.wire?.code, -32042)
    const [{ url, elicitationId }] = answer.requests as readonly [UrlRequest]
    const again = await second.callTool('list-issues', { state: 'open' })
    t.equal(again.kind === 'url' && again.requests[0]?.elicitationId, elicitationId, 'two MCP sessions share the record')
    const completions = [first, second].map(client => client.completed(elicitationId, { timeoutMs: 60_000 }))

    const { page, complaints } = await openBrowser(t, browser)
    const origins: Array<[url: string, origin: string | undefined]> = []
    const referers: string[] = []
    page.on('request', async request => {
      const headers = await request.allHeaders()
      if (request.method() === 'POST') origins.push([request.url(), headers['origin']])
      if (request.url().startsWith(demo.acme.issuer) && headers['referer'] !== undefined) referers.push(headers['referer'])
    })
    await page.goto(url)
    t.match(page.url(), '/login', 'sign-in at the app first')
    await signIn(page, 'alice')
    t.equal(page.url(), url)
    t.match(await page.textContent('h1'), 'Connect Acme to Example Corp?')
    const facts = (await page.textContent('dl'))!
    for (const fact of ['Example Corp', 'terminal-client', 'to list your issues', new URL(demo.acme.issuer).host, 'issues:read', 'alice', 'UTC']) t.match(facts, fact)
    await screenshot(page, 'interaction')
    await page.click('text=Continue to Acme')
    await page.waitForURL(`${demo.acme.issuer}/**`)
    await consentAtAcme(page)
    await page.waitForURL(`${url}/done`)
    t.match(await page.textContent('h1'), 'Acme is connected')

    await Promise.all(completions)
    const result = await first.callTool('list-issues', { state: 'open' })
    t.match(result, { kind: 'result', text: /alice@acme\.example.*rabbit hole/, isError: false })
    t.equal(demo.acme.tokenRequests, 1)

    await t.test('BRW-12 BRW-13 BRW-14 what the browser did with it', async t => {
      t.strictSame(complaints, [], 'no complaint about our policy')
      t.ok(origins.some(([url]) => url.startsWith(demo.baseUrl)))
      for (const [url, origin] of origins) if (url.startsWith(`${demo.baseUrl}/connect`)) t.equal(origin, demo.baseUrl, 'our forms send their Origin')
      t.ok(referers.every(referer => !referer.startsWith(demo.baseUrl)), 'the provider does not learn our address')
      const cdp = await page.context().newCDPSession(page)
      const { entries } = await cdp.send('Page.getNavigationHistory')
      const ours = entries.map(entry => entry.url).filter(url => url.startsWith(demo.baseUrl))
      t.ok(ours.length > 0)
      for (const url of ours) t.notMatch(url, /code=|state=/)
    })
  })

  t.test('BND-01 BND-03 Bob opens Alice\'s link, and completes her authorization URL: 403, and Alice still finishes', async t => {
    const demo = await startDemo()
    t.teardown(() => demo.close())
    const client = await openClient(t, demo)
    const answer = await client.callTool('list-issues', { state: 'open' })
    if (answer.kind !== 'url') return t.fail('the tool did not ask')
    const [{ url, elicitationId }] = answer.requests as readonly [UrlRequest]

    const [alice, bob] = [await openBrowser(t, browser), await openBrowser(t, browser)]
    await bob.page.goto(url)
    const refusal = bob.page.waitForResponse(response => response.url() === url && response.status() === 403)
    await signIn(bob.page, 'bob')
    await refusal
    t.match(await bob.page.textContent('h1'), 'This link is for another account')

    await alice.page.goto(url)
    await signIn(alice.page, 'alice')
    let authorizationUrl = ''
    await alice.page.route(`${demo.acme.issuer}/auth?**`, async route => {
      authorizationUrl = route.request().url()
      await route.abort()
    })
    await Promise.all([alice.page.waitForEvent('requestfailed'), alice.page.click('text=Continue to Acme')])
    await bob.page.goto(authorizationUrl)
    const callback = bob.page.waitForResponse(response => response.url().startsWith(`${demo.baseUrl}/connect/callback/acme?`))
    await consentAtAcme(bob.page)
    t.equal((await callback).status(), 403)
    t.match(await bob.page.textContent('h1'), 'This link is for another account')
    t.equal(demo.acme.tokenRequests, 0)

    await alice.page.unrouteAll()
    await alice.page.goto(url)
    await alice.page.click('text=Continue to Acme')
    await consentAtAcme(alice.page)
    await alice.page.waitForURL(`${url}/done`)
    await client.completed(elicitationId, { timeoutMs: 60_000 })
    t.match(await client.callTool('list-issues', { state: 'open' }), { kind: 'result', isError: false })
  })

  t.test('a client without URL mode: the user connects on the connections page, and the next call runs', async t => {
    const demo = await startDemo()
    t.teardown(() => demo.close())
    const client = await openClient(t, demo, false)
    const { page, complaints } = await openBrowser(t, browser)
    const answer = await client.callTool('list-issues', { state: 'open' })
    if (answer.kind !== 'result') return t.fail('a client without URL mode was sent a link')
    t.equal(answer.isError, true)
    const [connectionsUrl] = /http:\S+\/connect/.exec(answer.text)!
    t.equal(connectionsUrl, demo.app.mcpConnect.connectionsUrl)

    await page.goto(connectionsUrl)
    await signIn(page, 'alice')
    await screenshot(page, 'connections')
    await page.click('text=Connect Acme')
    await page.click('text=Continue to Acme')
    await consentAtAcme(page)
    await page.waitForURL('**/done')
    t.match(await client.callTool('list-issues', { state: 'open' }), { kind: 'result', isError: false, text: /rabbit hole/ })

    await page.click('text=See your connections')
    await page.click('text=Disconnect Acme')
    t.match(await page.textContent('section'), 'Not connected')
    t.match(await client.callTool('list-issues', { state: 'open' }), { kind: 'result', isError: true })
    t.strictSame(complaints, [])
  })

  t.test('BRW-25 a session cookie that is Strict: the browser leaves it behind, the page says what to do, and nothing goes in circles', async t => {
    const demo = await startDemo()
    t.teardown(() => demo.close())
    const client = await openClient(t, demo)
    const answer = await client.callTool('list-issues', { state: 'open' })
    if (answer.kind !== 'url') return t.fail('the tool did not ask')
    const [{ url }] = answer.requests as readonly [UrlRequest]
    const { page, context } = await openBrowser(t, browser)
    await page.goto(url)
    await signIn(page, 'alice')
    await page.waitForURL(url)
    await page.click('text=Continue to Acme')
    await page.waitForURL(`${demo.acme.issuer}/**`)
    const session = (await context.cookies(demo.baseUrl)).filter(({ name }) => name === 'app_session')
    t.match(session, [{ sameSite: 'Lax' }])
    await context.addCookies(session.map(cookie => ({ ...cookie, sameSite: 'Strict' as const })))
    const callback = page.waitForResponse(response => response.url().startsWith(`${demo.baseUrl}/connect/callback/acme?`))
    await consentAtAcme(page)
    t.equal((await callback).status(), 401)
    await page.waitForLoadState()
    t.match(await page.textContent('h1'), 'You are no longer signed in')
    t.equal(demo.acme.tokenRequests, 0)
    await page.getByRole('link', { name: 'Start again' }).click()
    await page.waitForURL(url)
    t.match(await page.textContent('h1'), 'Connect Acme to Example Corp?', 'from our own page the cookie comes along')
  })

  t.test('BRW-12 our pages cannot be framed, not even by a page of the same origin', async t => {
    const demo = await startDemo()
    t.teardown(() => demo.close())
    const { page } = await openBrowser(t, browser)
    await page.goto(`${demo.baseUrl}/login`)
    await signIn(page, 'alice')
    const { connectionsUrl } = demo.app.mcpConnect
    await page.route('**/framing', route => route.fulfill({ contentType: 'text/html', body: `<iframe src="${connectionsUrl}"></iframe>` }))
    const complaint = page.waitForEvent('console', message => message.text().includes('frame-ancestors'))
    await page.goto(`${demo.baseUrl}/framing`)
    t.match((await complaint).text(), /"frame-ancestors 'none'"/)
    t.notMatch(await page.frameLocator('iframe').locator('html').textContent(), 'Your connections')
  })
}
