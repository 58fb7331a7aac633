import t, { type Test } from 'tap'
import { findForm, title, type TestBrowser } from '../fixtures/browser.js'
import { refused } from '../fixtures/refused.js'
import { A, B, startServer, type TestServer } from '../fixtures/server.js'

/** Acme tells who its account is by its UserInfo. */
const openid = { acme: { scopes: ['openid', 'profile', 'issues:read'] } }
const ALICE = 'alice@acme.example'
const BOB = 'bob@acme.example'

const browsers = new WeakMap<TestServer, TestBrowser>()

/** The one browser of A. */
function browserOf (server: TestServer): TestBrowser {
  const browser = browsers.get(server) ?? server.browser(A)
  browsers.set(server, browser)
  return browser
}

/** From the link to where the browser is sent at the end. */
async function connectAs (server: TestServer, url: string, login: string): Promise<string> {
  const browser = browserOf(server)
  const callback = await server.untilCallback(browser, url, 'allow', login)
  return String((await browser.get(callback.href)).headers.location)
}

async function press (server: TestServer, page: string, ending: string): Promise<string> {
  return String((await browserOf(server).press(page, ending)).headers.location)
}

async function page (server: TestServer): Promise<string> {
  return (await browserOf(server).get('/connect')).body
}

/** A is connected as Alice, and has signed in at Acme as somebody else when asked to connect again. */
async function startConflict (t: Test): Promise<{ server: TestServer, link: string, question: string }> {
  const server = await startServer(t, openid)
  const { url } = await server.elicit(A)
  t.match(await connectAs(server, url, ALICE), /\/done$/)
  const link = await press(server, '/connect', '/acme/connect')
  const before = await server.vaultRows()
  const question = await connectAs(server, link, BOB)
  t.match(question, /\/account$/)
  t.equal(await server.vaultRows(), before, 'nothing is stored before the user has said so')
  return { server, link, question }
}

t.test('BND-19 another account asks before it replaces the one that is connected', async t => {
  const { server, link, question } = await startConflict(t)
  const shown = await browserOf(server).get(question)
  t.equal(title(shown), 'Another account at Acme')
  for (const account of [ALICE, BOB]) t.match(shown.body, account)
  t.match((await browserOf(server).get(link)).headers, { location: question }, 'the link leads to the question')
  await refused(t, server, () => server.browser(B).get(question), { status: 403, code: 'SUBJECT_MISMATCH', event: 'elicitation.subject_mismatch', owner: A })

  t.match(await press(server, question, '/account/replace'), /\/done$/)
  t.match(server.audit.filter(({ event }) => event === 'account.decided'), [{ choice: 'replace' }])
  t.match(await page(server), BOB)
  t.notMatch(await page(server), ALICE)
  await refused(t, server, () => browserOf(server).get(question), { status: 409, code: 'CONSUMED' })
})

t.test('BND-19 both can be kept, each with its buttons, and one is the default', async t => {
  const { server, question } = await startConflict(t)
  t.match(await press(server, question, '/account/add'), /\/done$/)
  t.match((await browserOf(server).get(question.replace('account', 'done'))).body, BOB, 'the account that was connected last is named')
  for (const account of [ALICE, BOB]) t.match(await page(server), account)
  const session = await server.openSession({ user: A })
  const issues = async (): Promise<string> => JSON.stringify(await session.client.callTool({ name: 'issues' }))
  t.match(await issues(), ALICE)
  await press(server, '/connect', '/default')
  t.match(await issues(), BOB)
  await press(server, '/connect', '/disconnect')
  t.match(await issues(), ALICE, 'the first one on the page was disconnected, which was the default')
  t.notMatch(await page(server), BOB)
})

t.test('BND-19 the new one can be forgotten: the link is good for the right account', async t => {
  const { server, link, question } = await startConflict(t)
  const before = await server.vaultRows()
  t.equal(await press(server, question, '/account/discard'), link)
  t.equal(await server.vaultRows(), before)
  t.match(await connectAs(server, link, ALICE), /\/done$/)
  t.match(await page(server), ALICE)
})

t.test('nobody else decides, nothing is decided by a forged form, and not after a disconnect', async t => {
  const { server, question } = await startConflict(t)
  const form = findForm(await browserOf(server).get(question), '/account/replace')
  await refused(t, server, () => server.browser(B).post(form.action, form.fields), { status: 403, code: 'SUBJECT_MISMATCH', event: 'elicitation.subject_mismatch', owner: A })
  await refused(t, server, () => browserOf(server).post(form.action.replace('replace', 'add'), form.fields), { status: 403, code: 'CSRF_FAILED', event: 'csrf.failed' })
  await refused(t, server, () => browserOf(server).post(form.action.replace('replace', 'other'), form.fields), { status: 404, code: 'NOT_FOUND' })
  await press(server, '/connect', '/acme/disconnect')
  await refused(t, server, () => browserOf(server).post(form.action, form.fields), { status: 409, code: 'DISCONNECTED' })
  t.equal(await server.vaultRows(), '[]')
})

t.test('a further account is added from the page, where Acme is asked to let the user choose', async t => {
  const server = await startServer(t, openid)
  const { url } = await server.elicit(A)
  await connectAs(server, url, ALICE)
  const link = await press(server, '/connect', '/acme/add')
  const shown = await browserOf(server).get(link)
  t.match(shown.body, 'a further account')
  t.match((await browserOf(server).press(link, '/start')).body, /prompt&#61;login/)
  t.match(await connectAs(server, link, BOB), /\/done$/)
  for (const account of [ALICE, BOB]) t.match(await page(server), account)
})

t.test('a handler names the account that it needs; one that is not connected is asked for', async t => {
  const server = await startServer(t, openid)
  const { url } = await server.elicit(A)
  await connectAs(server, url, ALICE)
  const session = await server.openSession({ user: A, account: BOB })
  const asked = await session.client.callTool({ name: 'issues' }).then(() => null, (error: { data: { elicitations: Array<{ url: string, message: string }> } }) => error)
  const [elicitation] = asked!.data.elicitations
  t.equal(elicitation!.message, 'Connect the Acme account that was named to list your issues.', 'what a model says is not repeated')
  t.match((await browserOf(server).press(elicitation!.url, '/start')).body, /login_hint&#61;bob%40acme\.example/)
  t.match(await connectAs(server, elicitation!.url, BOB), /\/done$/)
  t.match(await session.client.callTool({ name: 'issues' }), { content: [{ text: new RegExp(BOB) }] })
  const other = await server.openSession({ user: A })
  t.match(await other.client.callTool({ name: 'issues' }), { content: [{ text: new RegExp(ALICE) }] }, 'the default is as it was')
})

t.test('a no holds whichever account is named', async t => {
  const server = await startServer(t, openid)
  const { url } = await server.elicit(A)
  await browserOf(server).press(url, '/decline')
  for (const account of [BOB, 'a', 'b']) {
    const session = await server.openSession({ user: A, account })
    t.match(await session.client.callTool({ name: 'issues' }), { isError: true, content: [{ text: /was declined/ }] })
  }
})

t.test('a question that can no longer be answered leaves the link good', async t => {
  const { server, link } = await startConflict(t)
  await press(server, '/connect', '/acme/disconnect')
  t.match(title(await browserOf(server).get(link)), 'Connect Acme')
  t.match(await connectAs(server, link, BOB), /\/done$/)
  t.match(await page(server), BOB)
})

t.test('of two decisions at once the first counts: what was given back is not stored', async t => {
  let wait: Promise<void> | undefined
  let reached = (): void => {}
  const server = await startServer(t, {
    ...openid,
    async authorize () {
      reached()
      await wait
      return true
    }
  })
  const { url } = await server.elicit(A)
  await connectAs(server, url, ALICE)
  const question = await connectAs(server, await press(server, '/connect', '/acme/connect'), BOB)
  const shown = await browserOf(server).get(question)
  const [replace, discard] = ['/account/replace', '/account/discard'].map(ending => findForm(shown, ending)) as [ReturnType<typeof findForm>, ReturnType<typeof findForm>]
  let goOn = (): void => {}
  const asked = new Promise<void>(resolve => { reached = resolve })
  wait = new Promise(resolve => { goOn = resolve })
  const slow = browserOf(server).post(replace.action, replace.fields)
  await asked
  wait = undefined
  t.equal((await browserOf(server).post(discard.action, discard.fields)).statusCode, 303)
  goOn()
  t.equal((await slow).statusCode, 409)
  t.match(await page(server), ALICE)
  t.notMatch(await page(server), BOB)
})

t.test('what the account option may be', async t => {
  const server = await startServer(t, openid)
  await t.rejects(server.openSession({ user: A, account: '' }), { code: 'FST_MCP_CONNECT_GUARD_OPTIONS', message: /account/ })
  const session = await server.openSession({ user: A, account: () => 1 as never })
  t.match(await session.client.callTool({ name: 'issues' }), { isError: true, content: [{ text: /account\(\.\.\.args\) must be/ }] })
})

t.test('a provider that does not tell who its accounts are has one', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  await connectAs(server, url, ALICE)
  t.notMatch(await page(server), '/acme/add')
  const link = await press(server, '/connect', '/acme/connect')
  t.match(await connectAs(server, link, BOB), /\/done$/)
  t.equal(JSON.parse(await server.vaultRows()).length, 1)
})

t.test('each form of the connections page is about one thing, and about one account', async t => {
  const { server, question } = await startConflict(t)
  await press(server, question, '/account/add')
  const browser = browserOf(server)
  const shown = await browser.get('/connect')
  const actions = (ending: string): string[] => [...shown.body.matchAll(new RegExp(`action="([^"]*/accounts/[^"]*/${ending})"`, 'g'))].map(([, action]) => action!)
  const [first, second] = actions('disconnect').map(action => findForm(shown, action))
  const connect = findForm(shown, actions('connect')[0]!)
  const forged = { status: 403, code: 'CSRF_FAILED', event: 'csrf.failed' } as const
  await refused(t, server, () => browser.post(first!.action, second!.fields), { ...forged, what: 'the account' })
  await refused(t, server, () => browser.post(findForm(shown, '/default').action, connect.fields), { ...forged, what: 'the default' })
  await refused(t, server, () => browser.post(findForm(shown, '/acme/add').action, connect.fields), { ...forged, what: 'a further account' })

  t.equal((await browser.post(second!.action, second!.fields)).statusCode, 303)
  const before = await server.vaultRows()
  await refused(t, server, () => browser.post(second!.action, second!.fields), { status: 404, code: 'NOT_FOUND', what: 'an account that is gone is not all of them' })
  t.equal(await server.vaultRows(), before)
  t.match(await page(server), ALICE)
  t.notMatch(await page(server), BOB)
})
