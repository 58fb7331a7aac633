import t from 'tap'
import { defineProvider } from '../../lib/index.js'
import { createConfigurations } from '../../lib/oauth/configuration.js'
import { inDialect, valueAt } from '../../lib/oauth/dialect.js'
import { codesIn, retryAfter } from '../../lib/oauth/error-answer.js'
import { refreshTokens } from '../../lib/oauth/refresh-request.js'
import type { ProviderDefinition } from '../../lib/types.js'
import { json, startScriptedProvider, type Answer } from '../fixtures/scripted-provider.js'
import { Secrets } from '../fixtures/secrets.js'

const TOKEN = 'https://acme.example/token'
const FORM = 'application/x-www-form-urlencoded'

interface Sent {
  readonly url: string
  readonly type: string | null
  readonly version: string | null
  readonly body: unknown
}

/** Sends a token request to two addresses, of which the first is the token endpoint's. */
async function send (change: Partial<ProviderDefinition>, answer: string = '{}'): Promise<{ readonly sent: readonly Sent[], readonly answers: readonly string[] }> {
  const provider = defineProvider({ name: 'Acme', issuer: 'https://acme.example', clientId: 'id', clientSecret: 'secret', apiOrigins: ['https://api.acme.example'], ...change })
  const sent: Sent[] = []
  const fetch = inDialect(provider, url => url === TOKEN, async (url, init) => {
    const headers = new Headers(init.headers)
    sent.push({ url, type: headers.get('content-type'), version: headers.get('x-version'), body: init.body })
    return new Response(answer, { status: 201, headers: { 'x-own': 'kept' } })
  })
  const answers: string[] = []
  for (const url of [TOKEN, 'https://acme.example/userinfo']) {
    const response = await fetch(url, { method: 'POST', headers: { 'content-type': FORM }, body: 'grant_type=x&code=a%20b' })
    t.match([response.status, response.headers.get('x-own')], [201, 'kept'])
    answers.push(await response.text())
  }
  return { sent, answers }
}

t.test('token requests as the provider takes them, and all others as they are', async t => {
  const form = { type: FORM, body: 'grant_type=x&code=a%20b' }
  t.match((await send({})).sent, [{ ...form, version: null }, { ...form, version: null }])
  t.match((await send({ requestHeaders: { 'x-version': '2' }, tokenRequestFormat: 'json' })).sent, [
    { url: TOKEN, type: 'application/json', version: '2', body: '{"grant_type":"x","code":"a b"}' }, { ...form, version: '2' }
  ])
})

t.test('tokens that stand inside of another object, or do not', async t => {
  const nested = { ok: true, access_token: 'bot', token_type: 'bot', user: { access_token: 'own', token_type: 'user', scope: 'a' } }
  const inner = { tokenResponsePath: 'user' }
  const [token, other] = (await send(inner, JSON.stringify(nested))).answers
  t.strictSame(JSON.parse(token!), { access_token: 'own', token_type: 'bearer', scope: 'a' })
  t.equal(other, JSON.stringify(nested))
  t.match(JSON.parse((await send(inner, '{"access_token":"own","token_type":"user"}')).answers[0]!), { access_token: 'own', token_type: 'bearer' })
  for (const answer of ['{"ok":false,"error":"x"}', 'no JSON', '', '[]', 'null']) t.equal((await send(inner, answer)).answers[0], answer)
  t.equal((await send({}, JSON.stringify(nested))).answers[0], JSON.stringify(nested))
})

t.test('a path leads through what is the object\'s own', async t => {
  t.equal(valueAt({ a: { b: 1 } }, 'a.b'), 1)
  for (const [value, path] of [[{ a: 1 }, 'a.b'], [null, 'a'], ['text', 'length'], [{}, 'constructor.name'], [{}, '__proto__']] as const) t.equal(valueAt(value, path), undefined, path)
})

t.test('codes count wherever servers put them, and not however deep; Retry-After in seconds or as a date, for an hour at most', async t => {
  const codes = async (body: unknown): Promise<readonly string[]> => await codesIn(new Response(typeof body === 'string' ? body : JSON.stringify(body)))
  t.strictSame(await codes({ error: 'a', errors: [{ code: 'b' }], deep: { deep: { deep: 'd' } } }), ['a', 'b', 'd'])
  t.strictSame(await codes({ deep: { deep: { deep: { deep: 'e' } } } }), [])
  t.strictSame(await codes('no JSON'), [])

  const wait = (value?: string): number | undefined => retryAfter(new Response('', value === undefined ? {} : { headers: { 'retry-after': value } })).retryAfterMs
  for (const [value, ms] of [[undefined, undefined], ['7', 7000], ['0', 0], ['86400', 3_600_000], ['soon', undefined], [new Date(0).toUTCString(), 0]] as const) t.equal(wait(value), ms, String(value))
  const inAMinute = wait(new Date(Date.now() + 60_000).toUTCString())!
  t.ok(inAMinute > 50_000 && inAMinute <= 60_000)
  t.strictSame(retryAfter(undefined), {})
})

t.test('what a refresh may answer', async t => {
  const tokens = { access_token: 'canary-new', token_type: 'Bearer' }
  for (const [body, status, expected] of [
    [tokens, 200, { kind: 'tokens' }],
    [{ ...tokens, access_token: 'canary new' }, 200, { kind: 'later', reason: 'the answer holds no usable access token' }],
    [{ ...tokens, refresh_token: 'canary\nnew' }, 200, { kind: 'later' }],
    [{ ...tokens, token_type: 'mac' }, 200, { kind: 'later' }],
    [{ error: 'invalid_grant' }, 400, { kind: 'dead' }],
    [{ error: 'token_is_history' }, 400, { kind: 'dead' }],
    [{ error: 'unauthorized_client' }, 400, { kind: 'misregistered', reason: 'unauthorized_client' }],
    [{ error: 'no_such_app' }, 400, { kind: 'misregistered' }],
    [{ error: 'canary of its own' }, 400, { kind: 'later' }],
    [{ error: 'invalid_grant' }, 503, { kind: 'later', reason: 'status 503' }],
    [{ error: 'invalid_grant' }, 429, { kind: 'later', reason: 'status 429' }]
  ] as const) {
    const scripted = await startScriptedProvider(t, new Secrets())
    const refresh: Answer = ({ response }) => json(response, body, status)
    scripted.script = { refresh }
    const provider = scripted.provider({ failureCodes: { dead: ['token_is_history'], misregistered: ['no_such_app'] } })
    const answer = await refreshTokens(await createConfigurations()(provider), provider, 'r')
    t.match(answer, expected, JSON.stringify(answer))
    if (answer.kind !== 'tokens') t.notMatch(JSON.stringify(answer), 'canary')
  }
})
