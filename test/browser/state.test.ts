import t from 'tap'
import { FLOW_TTL_MS } from '../../lib/elicitation/flows.js'
import { authorizationUrl, findForm, title } from '../fixtures/browser.js'
import { advance } from '../fixtures/clock.js'
import { refused, refusedResponse, type Refusal } from '../fixtures/refused.js'
import { A, startServer } from '../fixtures/server.js'

const STATE_INVALID: Refusal = { status: 400, code: 'STATE_INVALID', event: 'callback.state_invalid' }
const CONSUMED: Refusal = { status: 409, code: 'CONSUMED', event: 'callback.replay' }
const EXPIRED: Refusal = { status: 410, code: 'EXPIRED', event: 'elicitation.expired' }

t.test('STA-01 no state', async t => {
  await refusedResponse(t, await startServer(t), url => url.searchParams.delete('state'), STATE_INVALID)
})

t.test('STA-02 unknown state', async t => {
  await refusedResponse(t, await startServer(t), url => url.searchParams.set('state', 'x'.repeat(43)), STATE_INVALID)
})

t.test('STA-03 one bit of the state flipped', async t => {
  await refusedResponse(t, await startServer(t), url => {
    const bytes = Buffer.from(url.searchParams.get('state')!, 'base64url')
    bytes[7]! ^= 1
    url.searchParams.set('state', bytes.toString('base64url'))
  }, STATE_INVALID)
})

t.test('STA-04 the authorization response comes too late', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  const callback = await server.untilCallback(browser, url)
  advance(t, FLOW_TTL_MS + 1000)
  for (const name of [...browser.cookies.keys()].filter(name => name.includes('-flow-'))) browser.cookies.delete(name)     // its Max-Age is over, too
  t.equal(title(await refused(t, server, () => browser.get(callback.href), EXPIRED)), 'This link has expired')
})

t.test('STA-04 the link itself is opened, or started, too late', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  const { action, fields } = findForm(await browser.get(url), '/start')
  advance(t, 15 * 60_000 + 1000)
  await refused(t, server, () => browser.get(url), EXPIRED)
  await refused(t, server, () => browser.post(action, fields), EXPIRED)
})

t.test('STA-05 REC-06 the same authorization response again', async t => {
  const server = await startServer(t)
  const { url, session } = await server.elicit(A)
  const browser = server.browser(A)
  const callback = await server.untilCallback(browser, url)
  const cookies = [...browser.cookies]
  t.equal((await browser.get(callback.href)).statusCode, 303)
  await refused(t, server, () => browser.get(callback.href), CONSUMED)
  for (const [name, value] of cookies) browser.cookies.set(name, value)
  const again = await refused(t, server, () => browser.get(callback.href), CONSUMED)
  t.equal(title(again), 'This is finished', 'with the flow cookie, which was gone, neither')
  t.equal(server.acme.tokenRequests, 1)
  t.equal(session.completed.length, 1)
})

t.test('REC-06 two authorization responses at once: one token request', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  const callback = await server.untilCallback(browser, url)
  const answers = await Promise.all(Array.from({ length: 20 }, () => browser.get(callback.href)))
  t.strictSame(answers.map(({ statusCode }) => statusCode).sort(), [303, ...Array<number>(19).fill(409)])
  t.equal(server.acme.tokenRequests, 1)
})

t.test('STA-07 a state made for one provider comes to the redirection endpoint of another', async t => {
  await refusedResponse(t, await startServer(t), url => { url.pathname = '/connect/callback/other' }, { status: 400, code: 'CONTEXT_MISMATCH', event: 'callback.context_mismatch' })
})

t.test('STA-07 there is no redirection endpoint of an unknown provider', async t => {
  await refusedResponse(t, await startServer(t), url => { url.pathname = '/connect/callback/nobody' }, { status: 404, code: 'NOT_FOUND' })
})

t.test('STA-08 before consent there are no flow and no flow cookie', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const puts: string[] = []
  const { put } = server.store.state
  t.intercept(server.store.state, 'put', { value: async (...args: Parameters<typeof put>) => { puts.push(args[0]); return await put(...args) } })
  const browser = server.browser(A)
  await browser.get(url)
  t.strictSame(puts, [])
  t.notOk([...browser.cookies.keys()].some(name => name.includes('flow')))
  await browser.press(url, '/start')
  t.match(puts, [/^flow-generation:[0-9a-f]{64}$/, /^flow:[0-9a-f]{64}$/], 'and the row does not tell the state')
  t.equal(puts.length, 2)
})

t.test('STA-09 states are 256 random bits', async t => {
  const server = await startServer(t, { limits: { principal: false } })
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  const states = new Set<string>()
  const ones = new Array<number>(256).fill(0)
  const count = 300
  for (let i = 0; i < count; i++) {
    const state = authorizationUrl(await browser.press(url, '/start')).searchParams.get('state')!
    t.match(state, /^[\w-]{43}$/)
    states.add(state)
    const bytes = Buffer.from(state, 'base64url')
    for (let bit = 0; bit < 256; bit++) ones[bit]! += (bytes[bit >> 3]! >> (bit & 7)) & 1
  }
  t.equal(states.size, count)
  // Five standard deviations (of 8.7) around 150 of 300.
  t.ok(ones.every(n => n > 100 && n < 200), 'each bit is one about half of the time')
  t.equal([...browser.cookies.keys()].filter(name => name.includes('flow')).length, 5, 'five flow cookies are kept')
  const callback = await server.untilCallback(browser, url)
  t.equal((await browser.get(callback.href)).statusCode, 303, 'and they are the latest')
})

t.test('STA-12 a state of any length is refused in good order', async t => {
  const server = await startServer(t)
  const browser = server.browser(A)
  for (const length of [0, 1, 42, 44, 10_000]) await refused(t, server, () => browser.get(`/connect/callback/acme?code=x&state=${'s'.repeat(length)}`), STATE_INVALID)
  await refused(t, server, () => browser.get(`/connect/callback/acme?code=x&state=${'s'.repeat(43)}&state=${'s'.repeat(43)}`), STATE_INVALID)
})
