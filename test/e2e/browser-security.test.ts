import { html } from 'ghtml'
import type { Browser, Page } from 'puppeteer-core'
import t, { type Test } from 'tap'
import type { BrowserIdentity, Principal } from '../../lib/types.js'
import { copyForms, inEachEngine, openPerson, press, sendForm, textsOfFrames, untilHeading, untilText, type CopiedForm } from '../fixtures/engines.js'
import { CONNECTIONS, consent, LINK, openWaitingRoom, signIn, startOnSite, type SiteServer } from '../fixtures/site-server.js'
import { openSite, type SeenRequest, type Site } from '../fixtures/sites.js'

/*
 * Where we rely on browsers, in each engine that is there: with https, names of their own and `__Host-` cookies. The server is at
 * mcp.example.test, and its owner does not trust the sibling evil.example.test. attacker.test is another site.
 */

t.setTimeout(900_000)

const FOREIGN = 'This form came from another address'

const hostUser = { issuer: 'https://login.example.test', subject: 'a', label: 'a@example.test' }

/** A login of the host application whose cookie goes everywhere. */
const carelessLogin: BrowserIdentity = {
  identify: ({ headers: { cookie = '' } }) => cookie.includes('careless_session=a') ? hostUser : null
}

await inEachEngine(t, 'what a browser does with our headers and forms', async (t, browser, { speculates }) => {
  await forgery(t, browser)
  await framing(t, browser)
  await journey(t, browser)
  await prefetching(t, browser, speculates)
})

async function forgery (t: Test, browser: Browser): Promise<void> {
  await t.test('BRW-06 forms of the user\'s own pages, copied to other pages and sent from there, move nothing', async t => {
    const [sibling, attacker] = [await openSite(t, 'evil.example.test'), await openSite(t, 'attacker.test')]
    await t.test('with our login: all cookies come from a sibling, and none from elsewhere', async t => {
      const server = await startOnSite(t)
      const { page } = await openPerson(t, browser)
      await signIn(page, server.connectionsUrl, 'alice')
      await forge(t, page, server, server.alice, [[sibling, 403, FOREIGN], [attacker, 401, 'Sign in first']])
    })

    await t.test('with a login of the host whose session comes from everywhere', async t => {
      const server = await startOnSite(t, { browser: carelessLogin })
      const { page } = await openPerson(t, browser)
      await page.goto(server.site.show('signed in', { 'set-cookie': 'careless_session=a; Path=/; Secure; HttpOnly; SameSite=None' }))
      await forge(t, page, server, hostUser, [[sibling, 403, FOREIGN], [attacker, 403, FOREIGN]])
    })
  })
}

/** Lets the user connect, and then sends every form that there is, from each of the sites. */
async function forge (t: Test, page: Page, server: SiteServer, user: Principal,
  answers: ReadonlyArray<readonly [from: Site, status: number, heading: string]>): Promise<void> {
  const { url: first } = await server.elicit(user)
  await page.goto(first)
  await press(page, 'Continue to Acme')
  await consent(page)
  await untilHeading(page, 'Acme is connected')
  const { url } = await server.elicit(user, { scopes: ['issues:write'] })
  const forms: CopiedForm[] = []
  for (const address of [url, server.connectionsUrl]) {
    await page.goto(address)
    forms.push(...await copyForms(page))
  }
  t.ok(forms.length >= 4, 'to start, to decline, to connect and to disconnect')
  const before = [await server.vaultRows(), server.acme.authorizationRequests, server.acme.tokenRequests]
  for (const [from, status, heading] of answers) {
    for (const [form, policy, origin] of [...forms.map(form => [form, 'unsafe-url', from.origin] as const), [forms[0]!, 'no-referrer', 'null'] as const]) {
      const sent = server.site.next(({ method }) => method === 'POST')
      await page.goto(from.show(`<meta name="referrer" content="${policy}">`))
      await sendForm(page, form)
      t.match(await sent, { status, headers: { origin } }, `${form.action} from ${origin}`)
      await untilHeading(page, heading)
    }
  }
  t.strictSame([await server.vaultRows(), server.acme.authorizationRequests, server.acme.tokenRequests], before)
  await page.goto(url)
  await press(page, 'Continue to Acme')
  await untilHeading(page, 'Allow Demo App?')
}

async function framing (t: Test, browser: Browser): Promise<void> {
  await t.test('BRW-11 BRW-12 T11 other pages show nothing of ours within themselves, and the link stays good', async t => {
    const server = await startOnSite(t)
    const { url } = await server.elicit(server.alice)
    const { context, page } = await openPerson(t, browser)
    await signIn(page, url, 'alice', LINK)
    const ours = { [url]: LINK, [server.connectionsUrl]: CONNECTIONS, [`${server.connectionsUrl}/nothing`]: 'Nothing here' }
    for (const site of [server.site, await openSite(t, 'evil.example.test'), await openSite(t, 'attacker.test')]) {
      const before = server.site.requests.length
      const addresses = [site.show('<p>Free for all</p>'), ...Object.keys(ours)]
      const page = site.show(addresses.map(address => html`<iframe src="${address}"></iframe>
<object type="text/html" data="${address}"></object><embed type="text/html" src="${address}">`).join(''))
      const texts = await textsOfFrames(context, page, ['Free for all', 3])
      const shown = (part: string): number => texts.filter(text => text.includes(part)).length
      for (const heading of Object.values(ours)) t.equal(shown(heading), 0, `${site.origin}: ${heading}`)
      const answers = server.site.requests.slice(before).filter(({ url: { href } }) => href === url).map(({ status }) => status)
      t.strictSame(answers, Array(3).fill(isSameSite(site) ? 200 : 303), `${site.origin}: all of them were asked for`)
    }
    await press(page, 'Continue to Acme')
    await untilHeading(page, 'Sign in to Acme')
  })
}

/** Whether the user's cookies go to the server with what a page of this site loads. */
function isSameSite ({ origin }: Site): boolean {
  return new URL(origin).hostname.endsWith('.example.test')
}

async function journey (t: Test, browser: Browser): Promise<void> {
  await t.test('BRW-12 BRW-13 BRW-14 to a provider that leads on to a login elsewhere, and back', async t => {
    const [front, partner] = [await openSite(t, 'acme.test'), await openSite(t, 'partner.test')]
    const server = await startOnSite(t, { authorizationEndpoint: `${front.origin}/authorize` })
    front.listener = ({ url = '' }, response) => {
      const { pathname, search } = new URL(url, front.origin)
      const location = pathname === '/authorize' ? `${partner.origin}/login${search}` : `${server.acme.issuer}/auth${search}`
      response.writeHead(303, { location }).end()
    }
    partner.listener = ({ method, url = '' }, response) => {
      if (method === 'POST') response.writeHead(303, { location: `${front.origin}/back${new URL(url, partner.origin).search}` }).end()
      else response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Partner</h1><form method="post"><button>Go on</button></form>')
    }
    const { url, session } = await server.elicit(server.alice)
    const { page, violations } = await openPerson(t, browser)
    await signIn(page, url, 'alice', LINK)
    await press(page, 'Continue to Acme')
    await untilHeading(page, 'Partner')
    await press(page, 'Go on')
    await consent(page)
    await untilHeading(page, 'Acme is connected')
    t.equal(session.completed.length, 1)

    const known = await page.evaluate(`[location.href, document.referrer, ...performance.getEntries().map(entry => entry.name),
      ...navigation.entries().map(entry => entry.url)]`) as string[]
    await press(page, 'See your connections')
    await untilHeading(page, CONNECTIONS)
    await press(page, 'Disconnect Acme')
    await untilText(page, 'Not connected.')
    await press(page, 'Sign out')
    await untilHeading(page, 'Signed out of Example')
    t.strictSame(violations, [], 'our policy stands in nobody\'s way')

    const posts = server.site.requests.filter(({ method }) => method === 'POST')
    t.strictSame(posts.map(({ url: { pathname }, headers: { origin } }) => [pathname.split('/').at(-1), origin]),
      ['start', 'disconnect', 'sign-out'].map(step => [step, server.site.origin]), 'our forms say where they come from')
    const [first] = front.requests
    t.equal(first?.url.pathname, '/authorize')
    for (const { headers } of [...front.requests, ...partner.requests]) t.notMatch(String(headers.referer), server.site.origin)
    t.equal(first?.headers.referer, undefined, 'the provider is not told where its user comes from')

    t.ok(server.site.requests.some(({ url: { searchParams } }) => searchParams.has('code')))
    for (let steps = await page.evaluate('history.length') as number; steps > 1; steps--) {
      await page.goBack()
      known.push(page.url())
    }
    const remembered = known.filter(address => address.startsWith(server.site.origin))
    t.ok(remembered.includes(url) && remembered.includes(`${url}/done`))
    for (const address of remembered) t.notMatch(address, /code=|state=/)
  })
}

async function prefetching (t: Test, browser: Browser, speculates: boolean): Promise<void> {
  await t.test('BND-07 links, and answers of the provider, that other pages have loaded move nothing', { timeout: 600_000 }, async t => {
    const room = await openWaitingRoom(t)
    const server = await startOnSite(t, { authorizationEndpoint: room.authorizationEndpoint })
    const { site, acme } = server
    async function untilAnswer (page: Page, login: 'alice' | 'bob', subject: string): Promise<string> {
      const { url } = await server.elicit({ ...server.alice, subject })
      await signIn(page, url, login, LINK)
      await press(page, 'Continue to Acme')
      await untilHeading(page, 'Acme waits')
      return await room.answer(server, `${login}@acme.example`)
    }
    const [{ page: bob }, { page, context }] = [await openPerson(t, browser), await openPerson(t, browser)]
    const bobs = await untilAnswer(bob, 'bob', 'employee-2')
    const own = await untilAnswer(page, 'alice', 'employee-1')
    const { url } = await server.elicit(server.alice)
    const before = [await server.vaultRows(), acme.tokenRequests, room.site.requests.length]
    const loadedAhead = async (address: string, destination: 'empty' | 'document'): Promise<SeenRequest> => await site.next(({ url, headers }) =>
      url.href === address && headers['sec-fetch-dest'] === destination && String(headers['sec-purpose']).startsWith('prefetch'))
    for (const from of [site, await openSite(t, 'evil.example.test'), await openSite(t, 'attacker.test')]) {
      const statuses = { [url]: isSameSite(from) ? 200 : 303, [bobs]: 403, [own]: 403 }
      const addresses = Object.keys(statuses)
      const loaded = Promise.all(addresses.map(async address => [address, (await loadedAhead(address, 'empty')).status]))
      const speculated = from === site && speculates ? loadedAhead(own, 'document') : null
      await page.goto(from.show(html`!${addresses.map(address => html`<link rel="prefetch" href="${address}"><img src="${address}">`).join('')}
<script type="speculationrules">!${JSON.stringify({ prerender: [{ urls: addresses, eagerness: 'immediate' }] })}</script>`))
      t.strictSame(Object.fromEntries(await loaded), statuses, from.origin)
      if (speculated !== null) t.equal((await speculated).status, 403)
      const tab = await context.newPage()
      await tab.goto(from.show(addresses.map(address => html`<iframe src="${address}"></iframe>`).join('')))
      await tab.close()
      t.strictSame([await server.vaultRows(), acme.tokenRequests, room.site.requests.length], before, 'nothing moved')
    }
    await page.goto(own)
    await untilHeading(page, 'Acme is connected')
  })
}
