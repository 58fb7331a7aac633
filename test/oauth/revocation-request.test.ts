import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { listenOnLoopback } from '../../examples/demo/ports.js'
import { allowLoopbackHttp, defineProvider } from '../../lib/index.js'
import { createConfigurations } from '../../lib/oauth/configuration.js'
import { revokeGrant, type RevocationAnswer } from '../../lib/oauth/revocation-request.js'
import type { Provider, ProviderDefinition } from '../../lib/types.js'
import { fakePreset, PRESET_NAMES, startFake } from '../fixtures/presets.js'
import { plainClient } from '../fixtures/plain-client.js'

const grant = { accessToken: 'canary-access', refreshToken: 'canary-refresh' }

interface Seen {
  readonly method: string
  readonly path: string
  readonly authorization: string | undefined
  readonly body: string
}

type Answer = (response: ServerResponse, request: IncomingMessage, body: string) => unknown

/** A server that answers as it is told, and a provider that has its revocation endpoint there. */
async function start (t: Test, answer: Answer, change: (origin: string) => Partial<ProviderDefinition> = () => ({})): Promise<{ seen: Seen[], revoke: (what?: Partial<typeof grant>) => Promise<RevocationAnswer> }> {
  const seen: Seen[] = []
  const server = createServer(async (request, response) => {
    const body = await text(request)
    seen.push({ method: request.method!, path: request.url!, authorization: request.headers.authorization, body })
    await answer(response, request, body)
  })
  const origin = `http://127.0.0.1:${await listenOnLoopback(server, 0)}`
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const provider = defineProvider({
    name: 'Acme',
    issuer: origin,
    clientId: 'id',
    clientSecret: 'canarysecret',
    endpoints: { authorization: `${origin}/authorize`, token: `${origin}/token`, revocation: `${origin}/revoke` },
    apiOrigins: [origin],
    [allowLoopbackHttp]: true,
    ...change(origin)
  })
  return { seen, revoke: async (what = grant) => await revoke(provider, what as typeof grant) }
}

async function revoke (provider: Provider, what: typeof grant): Promise<RevocationAnswer> {
  return await revokeGrant(await createConfigurations()(provider), provider, what)
}

const json = (status: number, body: object, headers: Record<string, string> = {}): Answer => response => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

t.test('VLT-16 the refresh token first, then the access token, each with its kind, as the client (RFC 7009 section 2.1)', async t => {
  const { seen, revoke } = await start(t, response => response.end())
  t.strictSame(await revoke(), { kind: 'revoked' })
  const authorization = `Basic ${Buffer.from('id:canarysecret').toString('base64')}`
  t.strictSame(seen.map(({ body, ...request }) => ({ ...request, ...Object.fromEntries(new URLSearchParams(body)) })), [
    { method: 'POST', path: '/revoke', authorization, token_type_hint: 'refresh_token', token: 'canary-refresh' },
    { method: 'POST', path: '/revoke', authorization, token_type_hint: 'access_token', token: 'canary-access' }
  ])
  seen.length = 0
  t.strictSame(await revoke({ accessToken: 'canary-access' }), { kind: 'revoked' })
  t.equal(seen.length, 1)
})

t.test('VLT-16 200, 400, 503, and what else a revocation endpoint may answer', async t => {
  for (const [answer, expected, requests] of [
    [json(200, {}), { kind: 'revoked' }, 2],
    [json(204, {}), { kind: 'revoked' }, 2],
    [json(400, { error: 'invalid_token' }), { kind: 'revoked' }, 2],
    [json(400, { error: 'invalid_grant' }), { kind: 'revoked' }, 2],
    [json(400, { error: 'token_is_history' }), { kind: 'revoked' }, 2],
    [json(400, { error: 'invalid_request' }), { kind: 'refused', reason: 'invalid_request' }, 1],
    [json(400, { error: 'canary of its own' }), { kind: 'refused', reason: 'status 400' }, 1],
    [json(400, { error: 'unsupported_token_type' }), { kind: 'refused', reason: 'unsupported_token_type' }, 1],
    [json(401, { error: 'invalid_client' }), { kind: 'refused', reason: 'invalid_client' }, 1],
    [json(401, { error: 'invalid_token' }), { kind: 'refused', reason: 'status 401' }, 1],
    [json(403, {}), { kind: 'refused', reason: 'status 403' }, 1],
    [json(404, {}), { kind: 'refused', reason: 'status 404' }, 1],
    [json(302, {}, { location: '/elsewhere' }), { kind: 'refused', reason: 'status 302' }, 1],
    [json(503, {}, { 'retry-after': '120' }), { kind: 'later', reason: 'status 503', retryAfterMs: 120_000 }, 1],
    [json(429, {}, { 'retry-after': '1' }), { kind: 'later', reason: 'status 429', retryAfterMs: 1000 }, 1],
    [json(503, { error: 'invalid_token' }), { kind: 'later', reason: 'status 503' }, 1],
    [json(500, {}), { kind: 'later', reason: 'status 500' }, 1],
    [json(408, {}), { kind: 'later', reason: 'status 408' }, 1],
    [(_response, request) => request.socket.destroy(), { kind: 'later', reason: /^network_error/ }, 1],
    [json(200, { more: 'x'.repeat(70_000) }), { kind: 'refused', reason: 'answer_too_large' }, 1]
  ] as ReadonlyArray<readonly [Answer, object, number]>) {
    const { seen, revoke } = await start(t, answer, () => ({ failureCodes: { dead: ['token_is_history'] } }))
    const given = await revoke()
    t.match(given, expected)
    t.notMatch(JSON.stringify(given), 'canary')
    t.equal(seen.length, requests, JSON.stringify(given))
    t.ok(seen.every(({ path }) => path === '/revoke'), 'nowhere else')
  }
})

t.test('an access token that cannot be revoked by itself ends with the refresh token, or soon', async t => {
  const { revoke } = await start(t, (response, request, body) =>
    body.includes('access_token') ? json(400, { error: 'unsupported_token_type' })(response, request, body) : response.end())
  t.strictSame(await revoke(), { kind: 'revoked' })
  t.strictSame(await revoke({ accessToken: 'canary-access' }), { kind: 'refused', reason: 'unsupported_token_type' })
})

t.test('VLT-16 a provider without a revocation endpoint is not asked; one that names it in its metadata is', async t => {
  const { seen, revoke: revokeThere } = await start(t, response => response.end(), origin => ({ endpoints: { authorization: `${origin}/authorize`, token: `${origin}/token` } }))
  t.strictSame(await revokeThere(), { kind: 'unsupported' })
  t.strictSame(seen, [])

  const fake = await startFake(t)
  const { body } = await plainClient(fake).connect()
  const provider = defineProvider({ name: 'Fake', issuer: fake.issuer, clientId: 'client', clientSecret: 'secret', apiOrigins: [fake.issuer], [allowLoopbackHttp]: true })
  t.strictSame(await revoke(provider, { accessToken: String(body['access_token']), refreshToken: String(body['refresh_token']) }), { kind: 'revoked' })
  t.equal(fake.counts.revocations, 2)
})

t.test('a way of its own, in the requests of its own, by the same rules of where requests may go', async t => {
  const { seen, revoke } = await start(t, response => response.end(), origin => ({
    revocationRequest: ({ accessToken, refreshToken }, { clientId, clientSecret }) => ({
      url: `${origin}/grants/${clientId}`, method: 'DELETE', headers: { authorization: `Basic ${clientSecret}` }, body: JSON.stringify({ accessToken, refreshToken })
    })
  }))
  t.strictSame(await revoke(), { kind: 'revoked' })
  t.strictSame(seen, [{ method: 'DELETE', path: '/grants/id', authorization: 'Basic canarysecret', body: JSON.stringify(grant) }], 'and RFC 7009 is left alone')

  for (const [answer, expected] of [
    [json(400, {}), { kind: 'revoked' }],
    [json(404, {}), { kind: 'revoked' }],
    [json(401, {}), { kind: 'refused', reason: 'status 401' }],
    [json(302, {}, { location: 'http://127.0.0.1:1/' }), { kind: 'refused', reason: 'status 302' }],
    [json(503, {}, { 'retry-after': '7' }), { kind: 'later', reason: 'status 503', retryAfterMs: 7000 }]
  ] as ReadonlyArray<readonly [Answer, object]>) {
    const { revoke } = await start(t, answer, origin => ({ revocationRequest: () => ({ url: `${origin}/x`, method: 'POST' }) }))
    t.strictSame(await revoke(), expected)
  }
})

t.test('OAR-28 a revocation is sent to https and to public addresses alone, and never fails', async t => {
  for (const [url, reason] of [
    ['http://acme.example/x', 'not_https'], ['https://10.0.0.1/x', /^not_public/], ['https://169.254.169.254/x', /^not_public/]
  ] as const) {
    const { seen, revoke } = await start(t, response => response.end(), () => ({ revocationRequest: () => ({ url, method: 'POST' }) }))
    t.match(await revoke(), { kind: 'refused', reason }, url)
    t.strictSame(seen, [])
  }
  for (const revocationRequest of [
    () => { throw new Error('canary') },
    async () => { throw new Error('canary') },
    () => ({ url: 'no URL', method: 'POST' }),
    () => ({ url: 'https://acme.example', method: 'POST', headers: { authorization: 'canary\nx' } }),
    () => undefined
  ]) {
    const { revoke } = await start(t, response => response.end(), () => ({ revocationRequest: revocationRequest as never }))
    t.strictSame(await revoke(), { kind: 'refused', reason: 'revocationRequest made no request' })
  }
})

t.test('every preset ends a grant at its fake, or has no way to', async t => {
  const unsupported: string[] = []
  for (const name of PRESET_NAMES) {
    const { fake, provider } = await fakePreset(t, name)
    const client = plainClient(fake, provider)
    const { access_token: accessToken, refresh_token: refreshToken } = (await client.connect()).tokens as Record<string, string>
    const answer = await revoke(provider, { accessToken: accessToken!, ...refreshToken !== undefined && { refreshToken } } as typeof grant)
    if (answer.kind === 'unsupported') unsupported.push(name)
    t.equal((await client.api(accessToken)).status, answer.kind === 'revoked' ? 401 : 200, `${name}: ${JSON.stringify(answer)}`)
    t.equal(fake.counts.refusals, answer.kind === 'revoked' ? 1 : 0, `${name}: ${JSON.stringify(fake.requests.at(-1))}`)
  }
  t.strictSame(unsupported, ['airtable', 'atlassian', 'figma', 'microsoft', 'spotify'])
})
