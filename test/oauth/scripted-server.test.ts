import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import t, { type Test } from 'tap'
import { advance } from '../fixtures/clock.js'
import { allowLoopbackHttp, defineProvider } from '../../lib/index.js'
import { createAuthorizationRequest } from '../../lib/oauth/authorization-request.js'
import { createConfigurations, type Configuration } from '../../lib/oauth/configuration.js'
import { readGrant } from '../../lib/oauth/grant.js'
import { createOutboundFetch } from '../../lib/oauth/outbound.js'
import { redeemCode } from '../../lib/oauth/token-request.js'
import type { Grant, ProviderDefinition } from '../../lib/types.js'

// Faults that a well-behaved authorization server does not commit.

type Answer = (request: IncomingMessage, response: ServerResponse) => void
const json = (body: unknown, status = 200): Answer => (_request, response) => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(typeof body === 'string' ? body : JSON.stringify(body))
}

interface Scripted {
  readonly issuer: string
  readonly requests: string[]
  readonly metadata: Record<string, unknown>
  readonly answers: Record<string, Answer>
  provider (change?: Partial<ProviderDefinition> & { publicClient?: boolean }): ReturnType<typeof defineProvider>
}

async function startScripted (t: Test): Promise<Scripted> {
  const requests: string[] = []
  const answers: Record<string, Answer> = {}
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`)
    const answer = answers[request.url ?? ''] ?? json({}, 404)
    answer(request, response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => { server.close(); server.closeAllConnections() })
  const issuer = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  const metadata = {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    response_types_supported: ['code'],
    code_challenge_methods_supported: ['S256']
  }
  answers['/.well-known/openid-configuration'] = (request, response) => json(metadata)(request, response)
  return {
    issuer,
    requests,
    metadata,
    answers,
    provider: ({ publicClient = false, ...change } = {}) => defineProvider({
      name: 'Acme',
      issuer,
      clientId: 'id',
      apiOrigins: ['https://api.acme.example'],
      [allowLoopbackHttp]: true,
      ...!publicClient && { clientSecret: 'canary-secret' },
      ...change
    })
  }
}

async function exchange (provider: ReturnType<typeof defineProvider>): Promise<Grant> {
  return await exchangeWith(await createConfigurations()(provider), provider)
}

async function exchangeWith (configuration: Configuration, provider: ReturnType<typeof defineProvider>): Promise<Grant> {
  const response = new URL('https://mcp.example.com/connect/callback/acme?code=canary-code&state=canary-state')
  return readGrant(provider, await redeemCode(configuration, provider, { response, state: 'canary-state', codeVerifier: 'v'.repeat(43) }), ['a'])
}

t.test('metadata: the OpenID address first, RFC 8414 only where that does not exist, once an hour', async t => {
  const scripted = await startScripted(t)
  const configurations = createConfigurations()
  const provider = scripted.provider()
  await Promise.all([configurations(provider), configurations(provider)])
  await configurations(provider)
  t.strictSame(scripted.requests.splice(0), ['GET /.well-known/openid-configuration'])
  await t.test('and again after that, while what is known goes on to be used', async t => {
    advance(t, 3_600_001)
    const { '/.well-known/openid-configuration': answer } = scripted.answers
    scripted.answers['/.well-known/openid-configuration'] = json({}, 503)
    const asked = async (): Promise<string[]> => {
      while (scripted.requests.length === 0) await new Promise(setImmediate)
      return scripted.requests.splice(0)
    }
    const known = await configurations(provider)
    t.strictSame(await asked(), ['GET /.well-known/openid-configuration'])
    t.equal(await configurations(provider), known, 'also when the server is in trouble')
    scripted.answers['/.well-known/openid-configuration'] = answer!
    advance(t, 3_600_001)
    t.equal(await configurations(provider), known)
    t.strictSame(await asked(), ['GET /.well-known/openid-configuration'])
    while (await configurations(provider) === known) await new Promise(setImmediate)
  })
  scripted.answers['/.well-known/oauth-authorization-server'] = scripted.answers['/.well-known/openid-configuration']!
  delete scripted.answers['/.well-known/openid-configuration']
  await createConfigurations()(provider)
  t.strictSame(scripted.requests, ['GET /.well-known/openid-configuration', 'GET /.well-known/oauth-authorization-server'])
})

t.test('OAR-14 OAR-26 OAR-27 metadata that cannot be used', async t => {
  const faults: Array<[name: string, message: RegExp, commit: (scripted: Scripted) => void]> = [
    ['no S256', /metadata of Acme .* does not list S256.*give endpoints/, ({ metadata }) => { delete metadata['code_challenge_methods_supported'] }],
    ['plain only', /metadata of Acme .* does not list S256.*give endpoints/, ({ metadata }) => { metadata['code_challenge_methods_supported'] = ['plain'] }],
    ['another issuer, and no fall-through to the second address', /its issuer is another one; set issuer to exactly that/, scripted => {
      scripted.answers['/.well-known/oauth-authorization-server'] = json({ ...scripted.metadata })
      scripted.metadata['issuer'] = 'https://other.example'
    }],
    ['a token endpoint without TLS', /authorization_endpoint or token_endpoint is missing/, ({ metadata }) => { metadata['token_endpoint'] = 'http://other.example/token' }],
    ['an authorization endpoint that is a script', /authorization_endpoint or token_endpoint is missing/, ({ metadata }) => { metadata['authorization_endpoint'] = 'javascript:alert(1)' }],
    ['no authorization endpoint', /authorization_endpoint or token_endpoint is missing/, ({ metadata }) => { delete metadata['authorization_endpoint'] }],
    ['no metadata at all', /neither .*openid-configuration/, ({ answers }) => { delete answers['/.well-known/openid-configuration'] }],
    ['text', /: OAUTH_/, ({ answers }) => { answers['/.well-known/openid-configuration'] = (_request, response) => { response.end('canary') } }],
    ['a redirect', /: OAUTH_/, ({ answers, issuer }) => { answers['/.well-known/openid-configuration'] = (_request, response) => { response.writeHead(302, { location: `${issuer}/elsewhere` }).end() } }],
    ['a server in trouble', /cannot be reached: status 503/, ({ answers }) => { answers['/.well-known/openid-configuration'] = json({}, 503) }],
    ['too much', /cannot be reached: answer_too_large/, ({ answers }) => { answers['/.well-known/openid-configuration'] = json({ x: 'x'.repeat(70_000) }) }],
    ['a broken connection', /Acme \(http.*\) cannot be reached: network_error/, ({ answers }) => { answers['/.well-known/openid-configuration'] = request => { request.socket.destroy() } }]
  ]
  for (const [name, message, commit] of faults) {
    const scripted = await startScripted(t)
    commit(scripted)
    const configurations = createConfigurations()
    const provider = scripted.provider()
    await t.rejects(configurations(provider), { code: /^FST_MCP_CONNECT_PROVIDER_(UNAVAILABLE|MISCONFIGURED)$/, message }, name)
    t.notOk(scripted.requests.some(request => request.includes('elsewhere')), 'redirects are not followed')
    const asked = scripted.requests.length
    await t.rejects(configurations(provider))
    t.equal(scripted.requests.length, asked, 'it is not asked again at once')
    await t.test('but soon', async t => {
      advance(t, 3001)
      await t.rejects(configurations(provider))
      t.ok(scripted.requests.length > asked)
    })
  }
})

t.test('OAR-16 token responses that cannot be used: one request, one error without a secret', async t => {
  const good = { access_token: 'canary-access', token_type: 'Bearer', refresh_token: 'canary-refresh' }
  const responses: Array<[string, Answer]> = [
    ['no access token', json({ ...good, access_token: undefined })],
    ['an empty access token', json({ ...good, access_token: '' })],
    ['a line feed in the access token', json({ ...good, access_token: 'canary-access\ntoken' })],
    ['a line feed in the refresh token', json({ ...good, refresh_token: 'canary-refresh\ntoken' })],
    ['a token that is no ASCII', json({ ...good, access_token: 'canary-\u202E' })],
    ['another token type', json({ ...good, token_type: 'mac' })],
    ['a token type that needs a proof', json({ ...good, token_type: 'DPoP' })],
    ['no token type', json({ ...good, token_type: undefined })],
    ['an error with status 200', json({ error: 'bad_verification_code', error_description: 'canary-text' })],
    ['an error', json({ error: 'invalid_grant', error_description: 'canary-text' }, 400)],
    ['an error of the server\'s own making', json({ error: 'canary_error' }, 400)],
    ['a list', json([good])],
    ['HTML', (_request, response) => { response.setHeader('content-type', 'text/html').end('<p>canary') }],
    ['a form', (_request, response) => { response.setHeader('content-type', 'application/x-www-form-urlencoded').end('access_token=canary-access') }],
    ['nothing', (_request, response) => { response.end() }],
    ['a negative lifetime', json({ ...good, expires_in: -1 })],
    ['a redirect', (_request, response) => { response.writeHead(307, { location: '/elsewhere' }).end() }],
    ['status 503', json({ ...good }, 503)],
    ['more than 64 KiB', json({ ...good, more: 'x'.repeat(70_000) })],
    ['a broken connection', request => { request.socket.destroy() }]
  ]
  for (const [name, answer] of responses) {
    const scripted = await startScripted(t)
    scripted.answers['/token'] = answer
    const error = await exchange(scripted.provider()).then(() => null, error => error as Error)
    t.match(error, { code: 'FST_MCP_CONNECT_EXCHANGE_FAILED', statusCode: 502 }, name)
    t.notMatch(`${error?.stack} ${JSON.stringify(error)} ${String(error?.cause)}`, 'canary', name)
    t.strictSame(scripted.requests.filter(request => request.includes('/token') || request.includes('elsewhere')), ['POST /token'], 'asked once')
  }
})

t.test('an answer that never comes: ten seconds, then 502', async t => {
  const scripted = await startScripted(t)
  scripted.answers['/token'] = () => {}
  const provider = scripted.provider()
  const configuration = await createConfigurations()(provider)
  const limits: number[] = []
  const { timeout } = AbortSignal
  t.intercept(AbortSignal, 'timeout', { value: (ms: number) => { limits.push(ms); return timeout(50) } })
  await t.rejects(exchangeWith(configuration, provider), { code: 'FST_MCP_CONNECT_EXCHANGE_FAILED', message: /timeout/ })
  t.ok(limits.includes(10_000))
  scripted.answers['/.well-known/openid-configuration'] = () => {}
  await t.rejects(createConfigurations()(provider), { code: 'FST_MCP_CONNECT_PROVIDER_UNAVAILABLE', message: /timeout/ })
})

t.test('token responses that can be used', async t => {
  const scripted = await startScripted(t)
  const bodies: string[] = []
  let response: object = {}
  scripted.answers['/token'] = async (request, answer) => {
    let body = ''
    for await (const chunk of request) body += chunk
    bodies.push(`${request.headers.authorization ?? '-'} ${body}`)
    json(response)(request, answer)
  }
  response = { access_token: 'x', token_type: 'bearer' }
  t.strictSame(await exchange(scripted.provider()), { accessToken: 'x', scopes: ['a'], requestedScopes: ['a'] }, 'without scope: those that were asked for')
  response = { access_token: 'x', token_type: 'BEARER', refresh_token: 'r', scope: 'a,b', expires_in: 60 }
  const before = Date.now()
  const grant = await exchange(scripted.provider({ scopeSeparator: ',', clientAuthentication: 'client_secret_post', resource: 'https://api.acme.example' }))
  t.match(grant, { accessToken: 'x', refreshToken: 'r', scopes: ['a', 'b'], requestedScopes: ['a'] })
  t.ok(grant.expiresAt! >= before + 60_000 && grant.expiresAt! <= Date.now() + 60_000)
  response = { access_token: 'x', token_type: 'bearer', scope: `a \u202E "quoted" ${'y'.repeat(300)} b` }
  t.strictSame((await exchange(scripted.provider())).scopes, ['a', 'b'], 'what is no scope is left out')
  bodies.pop()
  response = { access_token: 'x', token_type: 'bearer', scope: [...Array.from({ length: 300 }, (_, i) => `s${i}`), 'a'].join(' ') }
  const many = (await exchange(scripted.provider())).scopes
  t.equal(many.length, 101)
  t.ok(many.includes('a'), 'what was asked for is found, however much else there is')
  bodies.pop()
  response = { access_token: 'x', token_type: 'bearer', scope: '' }
  t.strictSame((await exchange(scripted.provider({ publicClient: true }))).scopes, [], 'an empty list is no scope')

  for (const [expiresIn, most] of [['1e308', Infinity], ['1e-9', 0], ['0', 0]] as const) {
    scripted.answers['/token'] = (_request, answer) => {
      answer.writeHead(200, { 'content-type': 'application/json' }).end(`{"access_token":"x","token_type":"bearer","expires_in":${expiresIn}}`)
    }
    const { expiresAt } = await exchange(scripted.provider())
    if (most === 0) t.equal(expiresAt, undefined, `${expiresIn}: no user is asked again at once, for ever`)
    else t.ok(Number.isSafeInteger(expiresAt) && expiresAt! > Date.now(), expiresIn)
  }

  const [basic, post, publicClient] = bodies
  t.match(basic, /^Basic .*grant_type=authorization_code/)
  t.match(basic, 'code_verifier=vvv')
  t.match(post, /^- .*client_secret=canary-secret/)
  t.match(post, 'resource=https%3A%2F%2Fapi.acme.example')
  t.match(publicClient, /^- .*client_id=id/)
  t.notMatch(publicClient, 'client_secret')
})

t.test('STA-13 STA-14 OAR-25 openid asks for an id_token of the server\'s own, bound by a nonce, and takes no other', async t => {
  const scripted = await startScripted(t)
  const [own, other] = await Promise.all([generateKeyPair('RS256'), generateKeyPair('RS256')])
  Object.assign(scripted.metadata, { jwks_uri: `${scripted.issuer}/jwks` })
  scripted.answers['/jwks'] = json({ keys: [{ ...await exportJWK(own.publicKey), alg: 'RS256', use: 'sig' }] })
  const provider = scripted.provider()
  const configuration = await createConfigurations()(provider)
  const { url, codeVerifier, nonce } = await createAuthorizationRequest(configuration, provider, { redirectUri: 'https://mcp.example.com/cb', scopes: ['openid'], state: 'canary-state' })
  t.equal(url.searchParams.get('nonce'), nonce)
  t.type(nonce, 'string')
  const now = Math.floor(Date.now() / 1000)
  const claims = { iss: scripted.issuer, aud: 'id', sub: 'x', iat: now, exp: now + 60, nonce }
  const sign = async (change: object = {}, { privateKey } = own): Promise<string> =>
    await new SignJWT({ ...claims, ...change }).setProtectedHeader({ alg: 'RS256' }).sign(privateKey)
  const redeem = async (idToken: string | undefined): Promise<Grant> => {
    scripted.answers['/token'] = json({ access_token: 'x', token_type: 'bearer', ...idToken !== undefined && { id_token: idToken } })
    return readGrant(provider, await redeemCode(configuration, provider, {
      response: new URL('https://mcp.example.com/cb?code=x&state=canary-state'), state: 'canary-state', codeVerifier, nonce: nonce!
    }), ['openid'])
  }
  t.strictSame((await redeem(await sign())).account, { subject: 'x' })
  const labels = { name: 'A', preferred_username: 'a', email: ` a@acme.example\u202e${'x'.repeat(200)}` }
  t.match((await redeem(await sign(labels))).account, { subject: 'x', label: /^a@acme\.example x{84}…$/ }, 'INP-14 one line of 100 characters')
  t.equal((await redeem(await sign({ ...labels, email: { canary: 1 } }))).account?.label, 'a')
  t.equal((await redeem(await sign({ ...labels, email: 'victim@acme.example', email_verified: false }))).account?.label, 'a', 'nobody is called by an address that may not be theirs')
  for (const verified of ['false', false]) t.equal((await redeem(await sign({ email: 'v@acme.example', preferred_username: 'v@acme.example', name: 'V', email_verified: verified }))).account?.label, 'V')
  t.equal((await redeem(await sign({ ...labels, email: 'b@acme.example', email_verified: true }))).account?.label, 'b@acme.example')
  for (const email of ['\u3164', '\u2800', '\u115f\u200b', '']) t.equal((await redeem(await sign({ ...labels, email }))).account?.label, 'a', 'nor by what cannot be seen')
  for (const change of [{ nonce: undefined }, { nonce: 'other' }, { iss: 'https://other.example' }, { aud: 'other' }, { exp: now - 60 }]) {
    await t.rejects(redeem(await sign(change)), { code: 'FST_MCP_CONNECT_EXCHANGE_FAILED' }, JSON.stringify(change))
  }
  const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url')
  for (const [what, idToken] of Object.entries({
    none: undefined,
    'signed by another key': await sign({}, other),
    unsigned: `${encode({ alg: 'none' })}.${encode(claims)}.`,
    'with the public key as a secret': await new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(Buffer.from(JSON.stringify(await exportJWK(own.publicKey))))
  })) await t.rejects(redeem(idToken), { code: 'FST_MCP_CONNECT_EXCHANGE_FAILED' }, what)
})

t.test('pinned endpoints: no metadata is asked for, and the same limits hold', async t => {
  const scripted = await startScripted(t)
  const provider = scripted.provider({ endpoints: { authorization: `${scripted.issuer}/a`, token: `${scripted.issuer}/token` } })
  scripted.answers['/token'] = json({ access_token: 'x', token_type: 'bearer' })
  t.match(await exchange(provider), { accessToken: 'x' })
  scripted.answers['/token'] = json({ access_token: 'x', token_type: 'bearer', more: 'x'.repeat(70_000) })
  await t.rejects(exchange(provider), { message: /answer_too_large/ })
  scripted.answers['/token'] = json({ error: 'incorrect_client_credentials', error_description: 'canary' })
  await t.rejects(exchange(provider), { message: /incorrect_client_credentials$/ }, 'an error with status 200 is read')
  t.ok(scripted.requests.every(request => request === 'POST /token'))
  for (const url of ['http://127.0.0.1:1/', 'http://acme.example/', 'ftp://acme.example/']) {
    await t.rejects(createOutboundFetch({ privateHosts: [] })(url, {}), { message: 'not_https' })
  }
  const onLoopback = { privateHosts: [], [allowLoopbackHttp]: true }
  scripted.answers['/away'] = (_request, response) => { response.writeHead(302, { location: '/elsewhere' }).end() }
  t.equal((await createOutboundFetch(onLoopback)(`${scripted.issuer}/away`, {})).status, 302, 'redirects are not followed')
  await t.rejects(createOutboundFetch(onLoopback)('http://acme.example/', {}), { message: 'not_https' })
})
