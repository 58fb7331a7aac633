import t from 'tap'
import { assertNavigation } from '../../lib/browser/navigation.js'
import { startWithLogin } from '../fixtures/login.js'
import { refused, type Refusal } from '../fixtures/refused.js'
import { A, startServer } from '../fixtures/server.js'

const NO_VISITS: ReadonlyArray<Readonly<Record<string, string>>> = [
  { 'sec-fetch-dest': 'iframe' }, { 'sec-fetch-dest': 'image' }, { 'sec-fetch-dest': 'empty' }, { 'sec-fetch-dest': '' },
  { 'sec-purpose': 'prefetch' }, { 'sec-purpose': 'prefetch;prerender' }, { 'sec-purpose': 'prerender' }, { purpose: 'prefetch' }, { purpose: 'Preview' },
  { 'x-purpose': 'preview' }, { 'x-moz': 'PREFETCH' }
]

const NAVIGATION_REQUIRED: Refusal = { status: 403, code: 'NAVIGATION_REQUIRED' }

t.test('BRW-05 what is loaded in advance, or inside of a page, is no visit; whoever says nothing is let through', async t => {
  for (const headers of NO_VISITS) t.throws(() => assertNavigation({ headers } as never), { code: 'FST_MCP_CONNECT_NAVIGATION_REQUIRED' }, JSON.stringify(headers))
  for (const headers of [{}, { 'sec-fetch-dest': 'document' }, { purpose: 'other' }]) t.doesNotThrow(() => assertNavigation({ headers } as never))
})

t.test('BRW-05 an authorization response that is no visit moves nothing', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  const callback = await server.untilCallback(browser, url)
  for (const headers of NO_VISITS) await refused(t, server, () => browser.get(callback.href, headers), { ...NAVIGATION_REQUIRED, what: JSON.stringify(headers) })
  t.equal((await browser.get(callback.href, { 'sec-fetch-dest': 'document' })).statusCode, 303)
})

t.test('BRW-05 nor does the answer to a sign-in', async t => {
  const server = await startWithLogin(t)
  const { browser, untilCallback } = server.person('alice')
  const callback = await untilCallback()
  for (const headers of NO_VISITS) await refused(t, server, () => browser.get(callback.href, headers), { ...NAVIGATION_REQUIRED, what: JSON.stringify(headers) })
  t.equal((await browser.get(callback.href)).statusCode, 303)
  t.equal((await browser.get('/connect')).statusCode, 200)
})
