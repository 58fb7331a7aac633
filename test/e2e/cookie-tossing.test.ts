import type { Page } from 'puppeteer-core'
import t, { type Test } from 'tap'
import { copyForms, inEachEngine, openPerson, press, sendForm, untilHeading, untilText } from '../fixtures/engines.js'
import { LINK, openWaitingRoom, signIn, startOnSite, type SiteServer } from '../fixtures/site-server.js'
import { openSite, type Site } from '../fixtures/sites.js'

/*
 * A sibling host, or another port of this one, plants cookies that somebody's browser then brings to us (RFC 6265 section 8.6).
 */

t.setTimeout(900_000)

const PREFIX = '__Host-mcp-connect-'
/** HTTP has it in names, and trim() takes it off. */
const NO_BREAK_SPACE = '\u00A0'

await inEachEngine(t, 'cookies that a neighbour plants', async (t, browser) => {
  await t.test('T13 a sibling cannot sign anybody in', async t => {
    const [server, sibling] = [await startOnSite(t), await openSite(t, 'evil.example.test')]
    const [{ page: bob }, { page: alice }] = [await openPerson(t, browser), await openPerson(t, browser)]
    await signIn(bob, server.connectionsUrl, 'bob')
    const [name, value] = await ownCookie(bob, server, 'session')

    await plant(t, alice, server, sibling, name, value)
    await alice.goto(server.connectionsUrl)
    await untilHeading(alice, 'Sign in to Example Corp')
    await signIn(alice, server.connectionsUrl, 'alice')
    await plant(t, alice, server, sibling, name, value)
    await alice.goto(server.connectionsUrl)
    await untilText(alice, 'Signed in as alice')
  })

  await t.test('T13 a sibling cannot bring a flow into another browser, nor disturb it in its own', async t => {
    const room = await openWaitingRoom(t)
    const [server, sibling] = [await startOnSite(t, { authorizationEndpoint: room.authorizationEndpoint }), await openSite(t, 'evil.example.test')]
    const { url } = await server.elicit(server.alice)
    const [{ page: own }, { page: other }] = [await openPerson(t, browser), await openPerson(t, browser)]
    await signIn(own, url, 'alice', LINK)
    await press(own, 'Continue to Acme')
    await untilHeading(own, 'Acme waits')
    const answer = await room.answer(server)
    const [name, value] = await ownCookie(own, server, 'flow-')

    await signIn(other, server.connectionsUrl, 'alice')
    await plant(t, other, server, sibling, name, value)
    t.equal((await other.goto(answer))?.status(), 403)
    await untilHeading(other, 'This was started in another browser')
    t.equal(server.acme.tokenRequests, 0)

    await plant(t, own, server, sibling, name, 'x'.repeat(43))
    await own.goto(answer)
    await untilHeading(own, 'Acme is connected')
  })

  await t.test('T13 a sibling cannot make a form good in a browser that was not shown it', async t => {
    const [server, sibling] = [await startOnSite(t), await openSite(t, 'evil.example.test')]
    const { url } = await server.elicit(server.alice)
    const [{ page: own }, { page: other }] = [await openPerson(t, browser), await openPerson(t, browser)]
    await signIn(own, url, 'alice', LINK)
    const [form] = await copyForms(own)
    const [name, value] = await ownCookie(own, server, 'form')

    await signIn(other, `${server.connectionsUrl}/${'x'.repeat(43)}`, 'alice', 'Nothing here')
    await plant(t, other, server, sibling, name, value)
    await other.goto(`${server.connectionsUrl}/${'x'.repeat(43)}`)
    const sent = server.site.next(({ method }) => method === 'POST')
    await sendForm(other, form!)
    t.match(await sent, { status: 403, headers: { origin: server.site.origin } })
    await untilHeading(other, 'This form has expired')
    t.equal(server.acme.authorizationRequests, 0)
  })

  await t.test('T13 without https, what another port plants is noticed, since it comes twice', async t => {
    const server = await startOnSite(t, { hostname: 'localhost', secure: false })
    const neighbour = await openSite(t, 'localhost', { secure: false })
    const [{ page: bob }, { page: alice }] = [await openPerson(t, browser), await openPerson(t, browser)]
    await signIn(bob, server.connectionsUrl, 'bob')
    const [name, value] = await ownCookie(bob, server, 'session')
    await signIn(alice, server.connectionsUrl, 'alice')
    // Of two cookies of one name, the one with the longer path comes first (RFC 6265 section 5.4).
    await alice.goto(neighbour.show('planted', { 'set-cookie': `${name}=${value}; Path=/connect` }))
    t.equal((await alice.goto(server.connectionsUrl))?.status(), 400)
    await untilHeading(alice, 'Your browser sent something unexpected')
    t.equal((await cookiesOf(alice, server)).filter(([key]) => key === name).length, 2)
  })
})

type Cookie = readonly [name: string, value: string]

/** The cookies that the browser brings to us. */
async function cookiesOf (page: Page, { site }: SiteServer): Promise<Cookie[]> {
  const visited = site.next(({ url }) => url.pathname === '/connect/nothing')
  await page.goto(`${site.origin}/connect/nothing`)
  const { headers } = await visited
  return (headers.cookie ?? '').split('; ').map(pair => pair.split('=')).map(([name = '', ...value]) => [name, value.join('=')])
}

async function ownCookie (page: Page, server: SiteServer, kind: string): Promise<Cookie> {
  const own = (await cookiesOf(page, server)).find(([name]) => name.startsWith(`${PREFIX}${kind}`) || name.startsWith(`mcp-connect-${kind}`))
  if (own === undefined) throw new Error(`this browser has no cookie of the kind ${kind}`)
  return own
}

/** Plants a cookie under all names that browsers or servers have taken for the true one, and shows which of them arrive. */
async function plant (t: Test, page: Page, server: SiteServer, sibling: Site, name: string, value: string): Promise<void> {
  const before = await cookiesOf(page, server)
  const bare = name.slice('__Host-'.length)
  const spaced = NO_BREAK_SPACE + name
  const cookies = [name, bare, spaced, `=${name}`, `\t${name}`, `${name} `, name.toLowerCase()]
    .flatMap(name => ['/', '/connect'].map(path => `${name}=${value}; Domain=example.test; Path=${path}; Secure`))
  await page.goto(sibling.show('planted', { 'set-cookie': cookies }))
  await page.evaluate(`for (const cookie of ${JSON.stringify(cookies)}) document.cookie = cookie`)
  const after = await cookiesOf(page, server)
  const planted = (name: string): Cookie[] => after.filter(([key]) => key === name)
  t.strictSame([bare, spaced].map(name => planted(name).at(0)?.[1]), [value, value], 'what no browser guards arrives')
  t.strictSame(planted(name), before.filter(([key]) => key === name), 'the true name is out of reach')
}
