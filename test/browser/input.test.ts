import type { LightMyRequestResponse } from 'fastify'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { defineProvider } from '../../lib/index.js'
import { findForm, USER_HEADER, type Form, type TestBrowser } from '../fixtures/browser.js'
import { rawRequest } from '../fixtures/raw-request.js'
import { refused, type Refusal } from '../fixtures/refused.js'
import { A, startServer, type TestServer } from '../fixtures/server.js'

const FORM_INVALID: Refusal = { status: 400, code: 'FORM_INVALID', event: 'csrf.failed' }
const FORM = 'application/x-www-form-urlencoded'

/** A form that has not been sent yet. */
async function openForm (server: TestServer): Promise<{ readonly browser: TestBrowser, readonly form: Form, send (body: string, type?: string): Promise<LightMyRequestResponse> }> {
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  const form = findForm(await browser.get(url), '/start')
  return {
    browser,
    form,
    send: async (payload, type = FORM) => await server.app.inject({ method: 'POST', url: new URL(form.action).pathname, payload, headers: headersOf(browser, type) })
  }
}

function headersOf ({ user, cookies }: TestBrowser, type: string): Record<string, string> {
  return {
    [USER_HEADER]: JSON.stringify(user),
    'content-type': type,
    cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  }
}

/** Has the application listen, and sends it a form in these very bytes. */
async function listen (t: Test, { app }: TestServer): Promise<(head: string, headers: Record<string, string>, body: string) => Promise<string>> {
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  return async (head, headers, body) => await rawRequest(port, [
    `${head} HTTP/1.1`, 'host: mcp.example.com', 'connection: close', `content-length: ${Buffer.byteLength(body)}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`), '', body
  ].join('\r\n'))
}

t.test('INP-04 hosts are shown in ASCII, whatever their letters look like; users in addresses are refused', async t => {
  const definition = { name: 'Acme', clientId: 'id', apiOrigins: ['https://api.acme.example'] }
  const shown = { 'xn--80ak6aa92e.com': 'xn--80ak6aa92e.com', 'аррӏе.com': 'xn--80ak6aa92e.com', 'ac\u00adme.example': 'acme.example', 'ⓔxample.com': 'example.com', 'ACME.example': 'acme.example', 'acme。example': 'acme.example' }
  const providers = Object.fromEntries(Object.keys(shown).map((host, i) => [`p${i}`, defineProvider({ ...definition, issuer: `https://${host}` })]))
  const server = await startServer(t, { providers })
  const page = (await server.browser(A).get('/connect')).body
  t.strictSame([...page.matchAll(/<p class="note">(.*?)<\/p>/g)].map(([, host]) => host), Object.values(shown))
  t.match(page, /^[\0-\x7F]*$/)
  for (const issuer of ['https://acme.example@attacker.example', 'https://acme.example:x@attacker.example', 'https://user@acme.example']) {
    t.throws(() => defineProvider({ ...definition, issuer }), { code: 'FST_MCP_CONNECT_OPTIONS', message: /without user, password/ }, issuer)
    t.throws(() => defineProvider({ ...definition, issuer: 'https://acme.example', endpoints: { authorization: issuer, token: 'https://acme.example' } }), { code: 'FST_MCP_CONNECT_OPTIONS' })
  }
})

t.test('INP-06 what is too much is refused, and the server goes on', async t => {
  const server = await startServer(t)
  const { browser, form, send } = await openForm(server)
  const tooLarge: Refusal = { status: 413, code: 'FST_ERR_CTP_BODY_TOO_LARGE', user: null }
  await refused(t, server, () => send(`csrf=${'x'.repeat(17_000)}`), tooLarge)
  await refused(t, server, () => send('x'.repeat(3_000_000)), tooLarge)
  const many = Array.from({ length: 1000 }, (_, i) => `p${i}=`).join('&')
  await refused(t, server, () => send(many), FORM_INVALID)
  await refused(t, server, () => send(`${new URLSearchParams(form.fields).toString()}&${many}`), FORM_INVALID)
  await refused(t, server, () => browser.get(`/connect/callback/acme?${many}`), { status: 400, code: 'STATE_INVALID', event: 'callback.state_invalid' })
  t.equal((await browser.get(`/connect?${many}`)).statusCode, 200)

  const ask = await listen(t, server)
  t.match(await ask('GET /connect', { 'x-long': 'x'.repeat(32_000) }, ''), /^HTTP\/1\.1 431 /)
  t.match(await ask('POST /connect/providers/acme/connect', { 'content-type': FORM, 'x-many': 'x' }, 'x'.repeat(100_000)), /^HTTP\/1\.1 413 /)
  t.equal((await send(new URLSearchParams(form.fields).toString())).statusCode, 200, 'the form still works')
})

t.test('INP-07 forms that call themselves something else are not read', async t => {
  const server = await startServer(t)
  const { browser, form, send } = await openForm(server)
  const body = new URLSearchParams(form.fields).toString()
  const unsupported: Refusal = { status: 415, code: 'FST_ERR_CTP_INVALID_MEDIA_TYPE', user: null }
  for (const type of ['text/plain', 'multipart/form-data; boundary=x', 'application/json', 'application/json\ta', ' application/json', `${FORM}\ta`, `${FORM}x`, `${FORM}, text/plain`,
    `text/plain, ${FORM}`, `text/plain; ${FORM}`, 'application/', '*/*', '']) {
    await refused(t, server, () => send(body, type), { ...unsupported, what: `"${type}"` })
  }
  const ask = await listen(t, server)
  const post = async (types: Record<string, string>): Promise<string> => {
    const { 'content-type': _, ...others } = headersOf(browser, '')
    return await ask(`POST ${new URL(form.action).pathname}`, { ...others, ...types }, body)
  }
  t.match(await post({}), /^HTTP\/1\.1 415 /, 'of no type')
  t.match(await post({ 'content-type': 'text/plain', 'Content-Type': FORM }), /^HTTP\/1\.1 415 /, 'of two types')
  t.equal((await send(body, `${FORM.toUpperCase()}; charset=utf-8`)).statusCode, 200, 'this is what it calls itself')
})

t.test('INP-09 a field that comes twice is no field of ours', async t => {
  const server = await startServer(t)
  const { form, send } = await openForm(server)
  const { csrf = '' } = form.fields
  for (const body of [`csrf=${csrf}&csrf=${csrf}`, `csrf=x&csrf=${csrf}`, `csrf=${csrf}&csrf=`, `csrf[]=${csrf}`, `csrf[0]=${csrf}`, `csrf.x=${csrf}`, `__proto__=x&csrf=${csrf}`, `csrf=${csrf}&constructor=x`]) {
    await refused(t, server, () => send(body), { ...FORM_INVALID, what: body.replaceAll(csrf, '(token)') })
  }
  t.equal((await send(`csrf=${csrf}`)).statusCode, 200)
})

t.test('INP-11 whatever is sent, the log has one line for each thing that it tells, and nobody else writes them', async t => {
  const server = await startServer(t)
  const forged = '"}\r\n{"level":60,"msg":"forged"}\n\u2028{"level":60,"msg":"forged"}\u0085\x1B[2K'
  const { url } = await server.elicit({ ...A, subject: forged }, { clientId: forged, clientName: forged })
  const browser = server.browser({ ...A, subject: forged, label: forged })
  await browser.get(url)
  const { action, fields } = findForm(await browser.get(url), '/start')
  for (const name of ['origin', 'sec-fetch-site', 'accept', 'user-agent', 'x-forwarded-for', 'x-request-id', 'cookie']) await browser.post(action, fields, { [name]: forged })
  await browser.post(action, { csrf: forged, [forged]: forged })
  const query = new URLSearchParams({ state: forged, code: forged, iss: forged, error: forged, error_description: forged, returnTo: forged }).toString()
  for (const path of ['/connect', '/connect/callback/acme', `/connect/callback/${encodeURIComponent(forged)}`, `/connect/${encodeURIComponent(forged)}`]) await browser.get(`${path}?${query}`)
  await server.browser({ ...A, issuer: forged, subject: 'b' }).get(url)

  const lines = server.log.join('').split('\n')
  t.equal(lines.pop(), '')
  for (const line of lines) {
    // Whoever looks at it in a terminal sees one line, too.
    t.match(line, /^[^\p{Cc}\u2028\u2029]*$/u)
    t.not((JSON.parse(line) as { level: number }).level, 60)
  }
  t.strictSame(lines.filter(line => line.includes('forged')).map(line => (JSON.parse(line) as { audit: { code: string } }).audit.code), ['FST_MCP_CONNECT_ORIGIN_MISMATCH'], 'of all that, an Origin alone is repeated')
})
