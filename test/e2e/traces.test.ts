import t, { type Test } from 'tap'
import { TestBrowser } from '../fixtures/browser.js'
import { FAULTS } from '../fixtures/scripted-provider.js'
import { startTraced, type Traced } from '../fixtures/traced.js'
import type { TracedConfiguration } from '../fixtures/traced-app.js'

t.setTimeout(400_000)

const NAMES = ['Basic header', 'MCP access token', 'access token', 'client secret', 'code', 'code_verifier', 'error_description', 'flow cookie', 'form cookie',
  'form token', 'id_token', 'key', 'login cookie', 'nonce', 'refresh token', 'session cookie', 'state']

/** What OpenTelemetry redacts by itself. */
const REDACTED_ANYWAY = ['sig', 'Signature', 'AWSAccessKeyId', 'X-Goog-Signature', 'X-Amz-Signature', 'X-Amz-Credential', 'X-Amz-Security-Token']

/** From the call of the tool to its result. */
async function flow (traced: Traced, subject: string): Promise<TestBrowser> {
  const client = await traced.client(subject)
  const browser = await traced.browser(subject)
  const asked = await client.callTool('issues')
  if (asked.kind !== 'url') throw new Error(`the tool did not ask: ${asked.text}`)
  const callback = await traced.untilCallback(browser, asked.requests[0]!.url)
  const { statusCode, headers } = await browser.get(callback.href)
  if (statusCode !== 303) throw new Error(`connecting ended with ${statusCode}`)
  await browser.get(String(headers.location))
  const result = await client.callTool('issues')
  if (result.kind !== 'result' || result.isError) throw new Error('the tool did not run')
  await client.close()
  return browser
}

function attributesOf (traced: Traced): Array<Readonly<Record<string, unknown>>> {
  return traced.stdout.map(line => JSON.parse(line) as { span?: { attributes: Record<string, unknown> } })
    .flatMap(({ span }) => span === undefined ? [] : [span.attributes])
}

t.test('LOG-07 LOG-01 the full flow and every failure, logged and traced as the README says: no secret', async t => {
  const traced = await startTraced(t, { telemetry: 'documented' })
  const { scripted, secrets } = traced
  const alice = await flow(traced, 'alice')

  const carol = await traced.browser('carol')
  scripted.script = { answer: () => {} }
  const hanging = carol.get((await traced.untilCallback(carol)).href)        // it takes ten seconds
  scripted.script = {}

  const bob = await traced.browser('bob')
  /** What becomes of an answer of the provider, or of what somebody has made of it. */
  const answer = async (title: string, status: number, alter: (url: URL) => void = () => {}, browser = bob, headers?: Record<string, string>): Promise<URL> => {
    const url = await traced.untilCallback(bob)
    alter(url)
    const { statusCode, body } = await browser.get(url.href, headers)
    t.equal(statusCode, status, title)
    t.strictSame(secrets.find(body).filter(name => !name.startsWith('form token')), [], `the page: ${title}`)
    return url
  }
  const error = (url: URL, code: string): void => {
    url.search = new URLSearchParams({ error: code, error_description: scripted.description, state: url.searchParams.get('state')!, iss: scripted.issuer }).toString()
  }

  for (const [title, answering] of Object.entries(FAULTS)) {
    scripted.script = { answer: answering }
    await answer(title, 502)
  }
  scripted.script = {}
  await answer('another issuer', 400, ({ searchParams }) => searchParams.set('iss', `https://attacker.example/${searchParams.get('code')}`))
  await answer('no issuer', 400, ({ searchParams }) => searchParams.delete('iss'))
  await answer('two codes', 400, ({ searchParams }) => searchParams.append('code', searchParams.get('code')!))
  await answer('no code', 400, ({ searchParams }) => searchParams.delete('code'))
  await answer('a malformed state', 400, ({ searchParams }) => searchParams.set('state', `${searchParams.get('state')}=`))
  await answer('the state of nothing', 400, ({ searchParams }) => searchParams.set('state', searchParams.get('code')!))
  await answer('the address of the login', 400, url => { url.pathname = '/connect/login/callback' })
  await answer('an unknown provider', 404, url => { url.pathname = '/connect/callback/unknown' })
  await answer('an unknown address', 404, url => { url.pathname += '/' })
  await answer('an error', 502, url => error(url, 'server_error'))
  await answer('an error of its own making', 502, url => error(url, scripted.description.slice(-43)))
  await answer('an error, in JSON', 502, url => error(url, 'server_error'), bob, { accept: 'application/json' })
  await answer('a refusal', 303, url => error(url, 'access_denied'))
  await answer('another user', 403, undefined, alice)
  await answer('another browser', 403, undefined, await traced.browser('bob'))
  await answer('no session', 401, undefined, new TestBrowser(bob.app, null))
  const good = await answer('a good one', 303)
  await answer('the same again', 409, url => { url.search = good.search })

  const { code, ...others } = Object.fromEntries(good.searchParams)
  t.equal((await bob.get(good.href, {}, 'HEAD')).statusCode, 405)
  t.equal((await bob.post('/connect/callback/acme', { code: code!, ...others })).statusCode, 405)
  t.equal((await bob.post('/connect/providers/acme/connect', { csrf: code! })).statusCode, 403)
  t.equal((await bob.post('/connect/providers/acme/connect', others)).statusCode, 400)
  const twice = [...bob.cookies, ...bob.cookies].map(pair => pair.join('=')).join('; ')
  t.equal((await bob.get('/connect', { cookie: twice })).statusCode, 400)
  t.equal((await bob.get(`/connect?${REDACTED_ANYWAY.map(name => `${name}=${code}`).join('&')}`)).statusCode, 200)
  t.equal((await bob.press('/connect', '/sign-out')).statusCode, 303)
  t.equal((await hanging).statusCode, 502)

  t.strictSame(secrets.find(await traced.stop()), [])
  t.strictSame([...secrets.names].sort(), NAMES, 'all of them were looked for')
  t.strictSame(traced.stderr, [])
  const attributes = attributesOf(traced)
  t.ok(attributes.filter(({ 'url.query': query }) => /code=REDACTED.*state=REDACTED/.test(String(query))).length > Object.keys(FAULTS).length, 'callbacks were traced')
  t.ok(attributes.filter(({ 'http.route': route, 'url.path': path }) => route === '/connect/callback/:provider' && path === '/connect/callback/acme').length > Object.keys(FAULTS).length, 'by Fastify, too')
  t.ok(attributes.filter(({ 'url.full': url }) => url === `${scripted.issuer}/token`).length > Object.keys(FAULTS).length, 'and requests for tokens')
})

/** What is found of a flow that goes well. */
async function found (t: Test, choice: Pick<TracedConfiguration, 'telemetry' | 'planted'>): Promise<string[]> {
  const traced = await startTraced(t, choice)
  await flow(traced, 'alice')
  const names = traced.secrets.find(await traced.stop())
  t.ok(attributesOf(traced).some(attributes => attributes['url.path'] === '/connect/callback/acme'), 'the callback was traced')
  return names
}

t.test('LOG-07 what the README says is needed', async t => {
  t.strictSame(await found(t, { telemetry: 'default' }), ['code (plain)', 'state (plain)'], 'by default, both stand in spans')
  t.strictSame(await found(t, { telemetry: 'outgoing alone' }), ['code (plain)', 'state (plain)'], 'redactedQueryParams is not enough')
})

t.test('LOG-13 what is put into a span to be found is found', async t => {
  t.strictSame((await found(t, { telemetry: 'documented', planted: true })).map(name => name.split(' ')[0]), ['code', 'code'])
})
