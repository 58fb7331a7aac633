import { generateKeyPair, SignJWT } from 'jose'
import t, { type Test } from 'tap'
import { allowLoopbackHttp, defineProvider } from '../../lib/index.js'
import { createAuthorizationRequest } from '../../lib/oauth/authorization-request.js'
import { createConfigurations, type Configuration } from '../../lib/oauth/configuration.js'
import { readGrant } from '../../lib/oauth/grant.js'
import { readAccount } from '../../lib/oauth/identity.js'
import { createOutboundFetch } from '../../lib/oauth/outbound.js'
import { redeemCode } from '../../lib/oauth/token-request.js'
import type { Grant, Provider } from '../../lib/types.js'
import { advance } from '../fixtures/clock.js'
import { FAULTS, json, startScriptedProvider, type Answer, type ScriptedProvider } from '../fixtures/scripted-provider.js'
import { Secrets } from '../fixtures/secrets.js'

// Faults that a well-behaved authorization server does not commit.

const OPENID = '/.well-known/openid-configuration'
const OAUTH = '/.well-known/oauth-authorization-server'
const REDIRECT_URI = 'https://mcp.example.com/connect/callback/acme'

const start = async (t: Test): Promise<ScriptedProvider> => await startScriptedProvider(t, new Secrets())

/** What it was asked since this was called last. */
const asked = ({ requests }: ScriptedProvider): string[] => requests.splice(0).map(({ method, path }) => `${method} ${path}`)

/** Goes to the authorization server and back, and redeems the code. */
async function exchange (scripted: ScriptedProvider, { provider = scripted.provider(), configuration, scopes = ['a'] }:
{ provider?: Provider, configuration?: Configuration, scopes?: readonly string[] } = {}): Promise<Grant> {
  const known = configuration ?? await createConfigurations()(provider)
  const state = 's'.repeat(43)
  const { url, ...secrets } = await createAuthorizationRequest(known, provider, { redirectUri: REDIRECT_URI, scopes, state })
  const tokens = await redeemCode(known, provider, { response: await scripted.authorize(url), state, ...secrets })
  return readGrant(provider, tokens, scopes, await readAccount(known, provider, tokens))
}

t.test('metadata: the OpenID address first, RFC 8414 only where that does not exist, once an hour', async t => {
  const scripted = await start(t)
  const configurations = createConfigurations()
  const provider = scripted.provider()
  await Promise.all([configurations(provider), configurations(provider)])
  await configurations(provider)
  t.strictSame(asked(scripted), [`GET ${OPENID}`])
  await t.test('and again after that, while what is known goes on to be used', async t => {
    advance(t, 3_600_001)
    scripted.answers.set(OPENID, (_request, response) => json(response, {}, 503))
    const next = async (): Promise<string[]> => {
      while (scripted.requests.length === 0) await new Promise(setImmediate)
      return asked(scripted)
    }
    const known = await configurations(provider)
    t.strictSame(await next(), [`GET ${OPENID}`])
    t.equal(await configurations(provider), known, 'also when the server is in trouble')
    scripted.answers.delete(OPENID)
    advance(t, 3_600_001)
    t.equal(await configurations(provider), known)
    t.strictSame(await next(), [`GET ${OPENID}`])
    while (await configurations(provider) === known) await new Promise(setImmediate)
  })
  scripted.answers.set(OPENID, (_request, response) => json(response, {}, 404))
  scripted.answers.set(OAUTH, (_request, response) => json(response, scripted.metadata))
  await createConfigurations()(provider)
  t.strictSame(asked(scripted), [`GET ${OPENID}`, `GET ${OAUTH}`])
})

t.test('OAR-14 OAR-26 OAR-27 metadata that cannot be used', async t => {
  const faults: Array<[name: string, message: RegExp, commit: (scripted: ScriptedProvider) => void]> = [
    ['no S256', /metadata of Acme .* does not list S256.*give endpoints/, ({ metadata }) => { delete metadata['code_challenge_methods_supported'] }],
    ['plain only', /metadata of Acme .* does not list S256.*give endpoints/, ({ metadata }) => { metadata['code_challenge_methods_supported'] = ['plain'] }],
    ['a text that holds S256', /does not list S256/, ({ metadata }) => { metadata['code_challenge_methods_supported'] = 'xS256' }],
    ['S256 as a number', /does not list S256/, ({ metadata }) => { metadata['code_challenge_methods_supported'] = 256 }],
    ['another issuer, and no fall-through to the second address', /its issuer is another one; set issuer to exactly that/, ({ answers, metadata }) => {
      const good = { ...metadata }
      answers.set(OAUTH, (_request, response) => json(response, good))
      metadata['issuer'] = 'https://other.example'
    }],
    ['a token endpoint without TLS', /authorization_endpoint or token_endpoint is missing/, ({ metadata }) => { metadata['token_endpoint'] = 'http://other.example/token' }],
    ['an authorization endpoint that is a script', /authorization_endpoint or token_endpoint is missing/, ({ metadata }) => { metadata['authorization_endpoint'] = 'javascript:alert(1)' }],
    ['no authorization endpoint', /authorization_endpoint or token_endpoint is missing/, ({ metadata }) => { delete metadata['authorization_endpoint'] }],
    ['a list of authorization endpoints', /authorization_endpoint or token_endpoint is missing/, ({ metadata }) => { metadata['authorization_endpoint'] = [metadata['authorization_endpoint']] }],
    ['a token endpoint that is no text', /authorization_endpoint or token_endpoint is missing/, ({ metadata }) => { metadata['token_endpoint'] = { toString: 'x' } }],
    ['no metadata at all', /neither .*openid-configuration/, ({ answers }) => { answers.set(OPENID, (_request, response) => json(response, {}, 404)) }],
    ['text', /metadata of Acme .*: OAUTH_/, ({ answers }) => { answers.set(OPENID, (_request, response) => { response.end('text') }) }],
    ['a redirect', /metadata of Acme .*: OAUTH_/, ({ answers }) => { answers.set(OPENID, (_request, response) => { response.writeHead(302, { location: '/elsewhere' }).end() }) }],
    ['a server in trouble', /cannot be reached: status 503/, ({ answers }) => { answers.set(OPENID, (_request, response) => json(response, {}, 503)) }],
    ['too much', /cannot be reached: answer_too_large/, ({ answers }) => { answers.set(OPENID, (_request, response) => json(response, { x: 'x'.repeat(70_000) })) }],
    ['a broken connection', /Acme \(http.*\) cannot be reached: network_error/, ({ answers }) => { answers.set(OPENID, request => { request.socket.destroy() }) }]
  ]
  for (const [name, message, commit] of faults) {
    const scripted = await start(t)
    commit(scripted)
    const configurations = createConfigurations()
    const provider = scripted.provider()
    await t.rejects(configurations(provider), { code: /^FST_MCP_CONNECT_PROVIDER_(UNAVAILABLE|MISCONFIGURED)$/, message }, name)
    t.strictSame(scripted.requests.filter(({ path }) => !path.startsWith('/.well-known/')), [], 'redirects are not followed')
    const { length } = scripted.requests
    await t.rejects(configurations(provider))
    t.equal(scripted.requests.length, length, 'it is not asked again at once')
    await t.test('but soon', async t => {
      advance(t, 3001)
      await t.rejects(configurations(provider))
      t.ok(scripted.requests.length > length)
    })
  }
})

t.test('OAR-16 token responses that cannot be used: one request, one error', async t => {
  const scripted = await start(t)
  const configuration = await createConfigurations()(scripted.provider())
  for (const [name, answer] of Object.entries(FAULTS)) {
    scripted.script = { answer }
    asked(scripted)
    await t.rejects(exchange(scripted, { configuration, scopes: ['openid'] }), { code: 'FST_MCP_CONNECT_EXCHANGE_FAILED', statusCode: 502 }, name)
    t.strictSame(asked(scripted).filter(request => !request.endsWith('/jwks')), ['GET /authorize', 'POST /token'], 'asked once')
  }
})

t.test('OAR-15 a server that is led to forget the challenge refuses the verifier, and is not asked without one', async t => {
  const scripted = await start(t)
  const provider = scripted.provider()
  const configuration = await createConfigurations()(provider)
  const state = 's'.repeat(43)
  const { url, codeVerifier } = await createAuthorizationRequest(configuration, provider, { redirectUri: REDIRECT_URI, scopes: [], state })
  for (const name of ['code_challenge', 'code_challenge_method']) url.searchParams.delete(name)
  const response = await scripted.authorize(url)
  asked(scripted)
  await t.rejects(redeemCode(configuration, provider, { response, state, codeVerifier }), { code: 'FST_MCP_CONNECT_EXCHANGE_FAILED', statusCode: 502, message: /: invalid_grant$/ })
  t.strictSame(asked(scripted), ['POST /token'])
})

t.test('an answer that never comes: ten seconds, then 502', async t => {
  const scripted = await start(t)
  scripted.script = { answer: () => {} }
  const configuration = await createConfigurations()(scripted.provider())
  const limits: number[] = []
  const { timeout } = AbortSignal
  t.intercept(AbortSignal, 'timeout', { value: (ms: number) => { limits.push(ms); return timeout(50) } })
  await t.rejects(exchange(scripted, { configuration }), { code: 'FST_MCP_CONNECT_EXCHANGE_FAILED', message: /timeout/ })
  t.ok(limits.includes(10_000))
  scripted.answers.set(OPENID, () => {})
  await t.rejects(createConfigurations()(scripted.provider()), { code: 'FST_MCP_CONNECT_PROVIDER_UNAVAILABLE', message: /timeout/ })
})

t.test('token responses that can be used', async t => {
  const scripted = await start(t)
  const respond = (body: object): void => { scripted.script = { answer: ({ response }) => json(response, body) } }
  const bearer = { access_token: 'x', token_type: 'bearer' }
  /** The token request, as it was sent last. */
  const sent = (): string => {
    const { headers, body } = scripted.requests.findLast(({ path }) => path === '/token')!
    return `${headers.authorization ?? '-'} ${body}`
  }
  respond(bearer)
  t.strictSame(await exchange(scripted), { accessToken: 'x', scopes: ['a'], requestedScopes: ['a'] }, 'without scope: those that were asked for')
  t.match(sent(), /^Basic .*grant_type=authorization_code/)
  t.match(sent(), /code_verifier=[\w-]{43}/)

  respond({ ...bearer, token_type: 'BEARER', refresh_token: 'r', scope: 'a,b', expires_in: 60 })
  const before = Date.now()
  const grant = await exchange(scripted, { provider: scripted.provider({ scopeSeparator: ',', clientAuthentication: 'client_secret_post', resource: 'https://api.acme.example' }) })
  t.match(grant, { accessToken: 'x', refreshToken: 'r', scopes: ['a', 'b'], requestedScopes: ['a'] })
  t.ok(grant.expiresAt! >= before + 60_000 && grant.expiresAt! <= Date.now() + 60_000)
  t.match(sent(), `client_secret=${scripted.clientSecrets.acme}`)
  t.match(sent(), /^- .*resource=https%3A%2F%2Fapi.acme.example/)

  respond({ ...bearer, scope: `a \u202E "quoted" ${'y'.repeat(300)} b` })
  t.strictSame((await exchange(scripted)).scopes, ['a', 'b'], 'what is no scope is left out')
  respond({ ...bearer, scope: [...Array.from({ length: 300 }, (_, i) => `s${i}`), 'a'].join(' ') })
  const many = (await exchange(scripted)).scopes
  t.equal(many.length, 101)
  t.ok(many.includes('a'), 'what was asked for is found, however much else there is')

  respond({ ...bearer, scope: '' })
  const { name, issuer, clientId, apiOrigins } = scripted.provider()
  const publicClient = defineProvider({ name, issuer, clientId, apiOrigins, [allowLoopbackHttp]: true })
  t.strictSame((await exchange(scripted, { provider: publicClient })).scopes, [], 'an empty list is no scope')
  t.match(sent(), /^- .*client_id=acme/)
  t.notMatch(sent(), 'client_secret')

  for (const [expiresIn, most] of [['1e308', Infinity], ['1e-9', 0], ['0', 0]] as const) {
    scripted.script = {
      answer: ({ response }) => response.writeHead(200, { 'content-type': 'application/json' }).end(`{"access_token":"x","token_type":"bearer","expires_in":${expiresIn}}`)
    }
    const { expiresAt } = await exchange(scripted)
    if (most === 0) t.equal(expiresAt, undefined, `${expiresIn}: no user is asked again at once, for ever`)
    else t.ok(Number.isSafeInteger(expiresAt) && expiresAt! > Date.now(), expiresIn)
  }
})

t.test('STA-13 STA-14 OAR-25 openid asks for an id_token of the server\'s own, bound by a nonce, and takes no other', async t => {
  const scripted = await start(t)
  const configuration = await createConfigurations()(scripted.provider())
  const redeem = async (idToken: (at: Parameters<Answer>[0]) => Promise<string | undefined> | string | undefined): Promise<Grant> => {
    scripted.script = {
      answer: async at => {
        const token = await idToken(at)
        json(at.response, { access_token: 'x', token_type: 'bearer', ...token !== undefined && { id_token: token } })
      }
    }
    return await exchange(scripted, { configuration, scopes: ['openid'] })
  }
  const labelOf = async (claims: object): Promise<string | undefined> => (await redeem(({ sign }) => sign(claims))).account?.label
  t.strictSame((await redeem(({ sign }) => sign({}))).account, { subject: 'alice', label: 'alice@example.com' }, 'the UserInfo endpoint knows the name')
  const labels = { name: 'A', preferred_username: 'a', email: ` a@acme.example\u202e${'x'.repeat(200)}` }
  t.match(await labelOf(labels), /^a@acme\.example x{84}…$/, 'INP-14 one line of 100 characters')
  t.equal(await labelOf({ ...labels, email: { canary: 1 } }), 'a')
  t.equal(await labelOf({ ...labels, email: 'victim@acme.example', email_verified: false }), 'a', 'nobody is called by an address that may not be theirs')
  for (const verified of ['false', false]) t.equal(await labelOf({ email: 'v@acme.example', preferred_username: 'v@acme.example', name: 'V', email_verified: verified }), 'V')
  t.equal(await labelOf({ ...labels, email: 'b@acme.example', email_verified: true }), 'b@acme.example')
  for (const email of ['\u3164', '\u2800', '\u115f\u200b', '']) t.equal(await labelOf({ ...labels, email }), 'a', 'nor by what cannot be seen')

  const now = Math.floor(Date.now() / 1000)
  let old: string | undefined
  await redeem(async ({ sign }) => { old = await sign({}); return old })
  const { keys: [publicKey] } = await (await fetch(`${scripted.issuer}/jwks`)).json() as { keys: [object] }
  const other = await generateKeyPair('RS256')
  const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url')
  const claimsOf = (token: string): Record<string, unknown> => JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString())
  for (const [what, idToken] of Object.entries<Parameters<typeof redeem>[0]>({
    'without a nonce': ({ sign }) => sign({ nonce: undefined }),
    'with another one': ({ sign }) => sign({ nonce: 'other' }),
    'of another flow': () => old,
    'of another issuer': ({ sign }) => sign({ iss: 'https://other.example' }),
    'for another client': ({ sign }) => sign({ aud: 'other' }),
    expired: ({ sign }) => sign({ exp: now - 60 }),
    none: () => undefined,
    'signed by another key': ({ sign }) => sign({}, other.privateKey),
    unsigned: async ({ sign }) => `${encode({ alg: 'none' })}.${encode(claimsOf(await sign({})))}.`,
    'with the public key as a secret': async ({ sign }) =>
      await new SignJWT(claimsOf(await sign({}))).setProtectedHeader({ alg: 'HS256' }).sign(Buffer.from(JSON.stringify(publicKey)))
  })) await t.rejects(redeem(idToken), { code: 'FST_MCP_CONNECT_EXCHANGE_FAILED' }, what)
})

t.test('pinned endpoints: no metadata is asked for, and the same limits hold', async t => {
  const scripted = await start(t)
  const { issuer } = scripted
  const provider = scripted.provider({ endpoints: { authorization: `${issuer}/authorize`, token: `${issuer}/token` } })
  const bearer = { access_token: 'x', token_type: 'bearer' }
  const redeem = async (body: object): Promise<Grant> => {
    scripted.script = { answer: ({ response }) => json(response, body) }
    return await exchange(scripted, { provider })
  }
  t.match(await redeem(bearer), { accessToken: 'x' })
  await t.rejects(redeem({ ...bearer, more: 'x'.repeat(70_000) }), { message: /answer_too_large/ })
  await t.rejects(redeem({ error: 'incorrect_client_credentials', error_description: 'canary' }), { message: /incorrect_client_credentials$/ }, 'an error with status 200 is read')
  t.ok(asked(scripted).every(request => ['GET /authorize', 'POST /token'].includes(request)))
  for (const url of ['http://127.0.0.1:1/', 'http://acme.example/', 'ftp://acme.example/']) {
    await t.rejects(createOutboundFetch({ privateHosts: [] })(url, {}), { message: 'not_https' })
  }
  const onLoopback = { privateHosts: [], [allowLoopbackHttp]: true }
  scripted.answers.set('/away', (_request, response) => { response.writeHead(302, { location: '/elsewhere' }).end() })
  t.equal((await createOutboundFetch(onLoopback)(`${issuer}/away`, {})).status, 302, 'redirects are not followed')
  await t.rejects(createOutboundFetch(onLoopback)('http://acme.example/', {}), { message: 'not_https' })
})
