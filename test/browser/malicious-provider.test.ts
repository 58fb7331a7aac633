import t, { type Test } from 'tap'
import { authorizationUrl, type TestBrowser } from '../fixtures/browser.js'
import { refused, type Refusal } from '../fixtures/refused.js'
import { json, startScriptedProvider, type ScriptedProvider } from '../fixtures/scripted-provider.js'
import { Secrets } from '../fixtures/secrets.js'
import { A, BASE_URL, startServer, type TestServer } from '../fixtures/server.js'
import { watch } from '../fixtures/watch.js'

const CONTEXT_MISMATCH: Refusal = { status: 400, code: 'CONTEXT_MISMATCH', event: 'callback.context_mismatch' }

interface Providers {
  readonly server: TestServer
  readonly browser: TestBrowser
  readonly p1: ScriptedProvider
  /** In the hands of an attacker. */
  readonly px: ScriptedProvider
  /** Begins on the connections page, and presses the button. */
  begin (provider: 'p1' | 'px'): Promise<URL>
  /** What the user's browser brings back from P1, whose code it is that the attacker is after. */
  fromP1 (url: URL): Promise<URL>
  /** Whether the attacker has got hold of one of those codes. */
  stolen (): boolean
}

/** An honest provider, and one whose definition a tenant has supplied. */
async function start (t: Test): Promise<Providers> {
  const { secrets } = watch(t)
  const [p1, px] = [await startScriptedProvider(t, secrets), await startScriptedProvider(t, secrets, 'PX')]
  const server = await startServer(t, { beside: [p1, px], providers: { p1: p1.provider({ name: 'P1' }), px: px.provider({ name: 'PX' }) } })
  const browser = server.browser(A)
  const codes = new Secrets()
  return {
    server,
    browser,
    p1,
    px,
    begin: async provider => authorizationUrl(await browser.press(String((await browser.press('/connect', `/${provider}/connect`)).headers.location), '/start')),
    async fromP1 (url) {
      const callback = await p1.authorize(url)
      codes.add('code of P1', callback.searchParams.get('code')!)
      return callback
    },
    stolen: () => codes.find(JSON.stringify(px.requests)).length > 0
  }
}

/** The way of PX's authorization request to P1: as P1's own client, with PX's state. */
function redirectToP1 (url: URL, p1: ScriptedProvider, redirectUri: string): URL {
  const redirected = new URL(`${p1.issuer}/authorize`)
  redirected.search = url.search
  redirected.searchParams.set('redirect_uri', redirectUri)
  return redirected
}

t.test('TEN-10 a provider that sends its visitors on to an honest one never gets the code', async t => {
  const { server, browser, p1, px, begin, fromP1, stolen } = await start(t)
  const callbackOf = (provider: string): string => `${BASE_URL}/connect/callback/${provider}`
  p1.redirectUris.push(callbackOf('p1'))

  const url = await begin('px')
  t.equal(url.origin, px.issuer)
  await t.rejects(p1.authorize(redirectToP1(url, p1, callbackOf('px'))), /sends the browser nowhere/, 'each provider has a redirect URI of its own, and P1 does not know that of PX')

  const misled = await fromP1(redirectToP1(url, p1, callbackOf('p1')))
  t.match(misled.href, `${callbackOf('p1')}?`)
  await refused(t, server, () => browser.get(misled.href), CONTEXT_MISMATCH)

  p1.redirectUris.push(callbackOf('px'))       // P1 is careless
  const careless = await fromP1(redirectToP1(await begin('px'), p1, callbackOf('px')))
  await refused(t, server, () => browser.get(careless.href), { status: 400, code: 'ISS_MISMATCH', event: 'callback.iss_mismatch', what: 'it is from P1, and PX never said that it names an issuer' })

  const honest = await fromP1(await begin('p1'))
  const swapped = new URL(honest)
  swapped.pathname = '/connect/callback/px'
  await refused(t, server, () => browser.get(swapped.href), CONTEXT_MISMATCH)
  swapped.searchParams.delete('iss')
  await refused(t, server, () => browser.get(swapped.href), CONTEXT_MISMATCH)
  t.equal(px.tokenRequests, 0)
  t.equal(stolen(), false)
  t.equal((await browser.get(honest.href)).statusCode, 303)
  t.equal(p1.tokenRequests, 1)
})

t.test('OAR-27 TEN-10 nor does one whose metadata name the endpoints of the honest one', async t => {
  const { server, browser, p1, px, begin, fromP1, stolen } = await start(t)
  px.metadata['authorization_endpoint'] = `${p1.issuer}/authorize`
  p1.redirectUris.push(`${BASE_URL}/connect/callback/p1`)
  const url = await begin('px')
  t.equal(url.origin, p1.issuer)
  await t.rejects(p1.authorize(url), /sends the browser nowhere/)
  const misled = await fromP1(redirectToP1(url, p1, p1.redirectUris[0]!))
  await refused(t, server, () => browser.get(misled.href), CONTEXT_MISMATCH)
  t.equal(px.tokenRequests, 0)
  t.equal(stolen(), false)
})

t.test('STA-13 an id_token counts when it has the nonce of this very flow', async t => {
  const { secrets } = watch(t)
  const p1 = await startScriptedProvider(t, secrets)
  const server = await startServer(t, { beside: [p1], providers: { p1: p1.provider({ scopes: ['openid'] }) } })
  const browser = server.browser(A)
  const link = String((await browser.press('/connect', '/p1/connect')).headers.location)
  const answer = async (): Promise<string> => (await p1.authorize(authorizationUrl(await browser.press(link, '/start')))).href
  p1.script = { answer: async ({ response, good, sign }) => json(response, { ...good, id_token: await sign({ nonce: 'of another flow' }) }) }
  const foreign = await answer()
  await refused(t, server, () => browser.get(foreign), {
    status: 502, code: 'EXCHANGE_FAILED', event: 'request.failed', before: ['exchange.started', 'exchange.orphan_possible'], tokenCalls: 1, moved: true
  })
  p1.script = {}
  t.equal((await browser.get(await answer())).statusCode, 303)
})

t.test('OAR-27 nor one that calls itself by the name of the honest one', async t => {
  const { server, browser, p1, px } = await start(t)
  px.metadata['issuer'] = p1.issuer
  const link = String((await browser.press('/connect', '/px/connect')).headers.location)
  const answer = await browser.press(link, '/start')
  t.equal(answer.statusCode, 502)
  t.match(server.audit.at(-1), { event: 'request.failed', code: 'FST_MCP_CONNECT_PROVIDER_MISCONFIGURED' })
})
