import { createPublicKey, generateKeyPairSync, subtle } from 'node:crypto'
import { decodeProtectedHeader, jwtVerify } from 'jose'
import t, { type Test } from 'tap'
import undici from 'undici'
import { startAuthorizationServer } from '../../examples/demo/authorization-server.js'
import { HttpBrowser } from '../../examples/demo/http-browser.js'
import { acmeCustomers } from '../../examples/demo/people.js'
import { visit } from '../../examples/demo/visitor.js'
import { allowLoopbackHttp, defineProvider } from '../../lib/index.js'
import type { SigningAlgorithm } from '../../lib/client-registration.js'
import { createAuthorizationRequest } from '../../lib/oauth/authorization-request.js'
import { createConfigurations } from '../../lib/oauth/configuration.js'
import { refreshTokens } from '../../lib/oauth/refresh-request.js'
import { redeemCode, type Tokens } from '../../lib/oauth/token-request.js'
import type { Provider } from '../../lib/types.js'
import { startWithLogin } from '../fixtures/login.js'
import { json, startScriptedProvider } from '../fixtures/scripted-provider.js'
import { Secrets } from '../fixtures/secrets.js'

const REDIRECT_URI = 'https://mcp.example.com/connect/callback/acme'
const STATE = 's'.repeat(43)
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey

/** Goes to the authorization server and back, and redeems the code. */
async function exchange (provider: Provider, authorize: (url: URL) => Promise<URL>): Promise<Tokens> {
  const configuration = await createConfigurations()(provider)
  const { url, ...secrets } = await createAuthorizationRequest(configuration, provider, { redirectUri: REDIRECT_URI, scopes: provider.scopes, state: STATE })
  return await redeemCode(configuration, provider, { response: await authorize(url), state: STATE, ...secrets })
}

t.test('private_key_jwt: an assertion for the issuer, by the client, for a minute and once, with the code and with a refresh (RFC 7523 section 3)', async t => {
  const scripted = await startScriptedProvider(t, new Secrets())
  const { issuer } = scripted
  const { importKey } = subtle
  let imports = 0
  t.intercept(subtle, 'importKey', { value: (...args: Parameters<typeof importKey>) => { if (args[0] as string === 'pkcs8') imports++; return Reflect.apply(importKey, subtle, args) } })
  const seen = new Set<string>()
  for (const endpoints of [undefined, { authorization: `${issuer}/authorize`, token: `${issuer}/token` }]) {
    const provider = defineProvider({
      name: 'Acme', issuer, clientId: 'acme', privateKey: { key: ec, kid: 'key-1' }, apiOrigins: [issuer], [allowLoopbackHttp]: true, ...endpoints !== undefined && { endpoints }
    })
    scripted.script = { answer: ({ response }) => json(response, { access_token: 'x', token_type: 'bearer', refresh_token: 'r' }) }
    imports = 0
    await exchange(provider, scripted.authorize)
    scripted.answers.set('/token', (_request, response) => json(response, { access_token: 'y', token_type: 'bearer' }))
    for (let i = 0; i < 2; i++) t.match(await refreshTokens(await createConfigurations()(provider), provider, 'r'), { kind: 'tokens', tokens: { access_token: 'y' } })
    scripted.answers.delete('/token')
    t.equal(imports, 1, 'the key is imported once')
    const requests = scripted.requests.splice(0).filter(({ path }) => path === '/token')
    t.strictSame(requests.map(({ body }) => new URLSearchParams(body).get('grant_type')), ['authorization_code', 'refresh_token', 'refresh_token'])
    for (const { headers, body } of requests) {
      const form = new URLSearchParams(body)
      t.notOk('authorization' in headers || form.has('client_secret'))
      t.match(Object.fromEntries(form), { client_id: 'acme', client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer' })
      const assertion = form.get('client_assertion')!
      t.match(decodeProtectedHeader(assertion), { alg: 'ES256', kid: 'key-1' })
      const { payload: { iss, sub, aud, exp = 0, iat = 0, jti = '' } } = await jwtVerify(assertion, createPublicKey(ec))
      t.strictSame({ iss, sub, aud }, { iss: 'acme', sub: 'acme', aud: issuer }, 'the issuer alone is the audience: no other server can be shown it')
      t.ok(exp - iat > 0 && exp - iat <= 60 && exp > Date.now() / 1000)
      t.notOk(seen.has(jti) || jti.length < 16)
      seen.add(jti)
    }
  }
})

/** A real authorization server with one client. */
async function startReal (t: Test, client: Record<string, unknown>): Promise<{ issuer: string, authorize: (url: URL) => Promise<URL> }> {
  const server = await startAuthorizationServer({
    site: { name: 'Acme', color: '#000' },
    people: acmeCustomers,
    scopes: { 'issues:read': 'read your issues' },
    clients: [{ client_id: 'example', client_name: 'Example', redirect_uris: [REDIRECT_URI], ...client }],
    settings: { enabledJWA: { clientAuthSigningAlgValues: ['RS256', 'PS256', 'PS512', 'ES256', 'ES512'] } }
  })
  t.teardown(() => server.close())
  return {
    issuer: server.issuer,
    authorize: async url => (await visit(new HttpBrowser([REDIRECT_URI]), url.href, { login: '', password: '', acmeLogin: 'alice@acme.example' })).url
  }
}

t.test('a real authorization server takes it, whichever the algorithm, and no other key', async t => {
  const p521 = generateKeyPairSync('ec', { namedCurve: 'P-521' }).privateKey
  for (const [alg, key] of [['RS256', rsa], ['PS256', rsa], ['PS512', rsa], ['ES256', ec], ['ES512', p521]] as ReadonlyArray<readonly [SigningAlgorithm, typeof rsa]>) {
    const { issuer, authorize } = await startReal(t, {
      token_endpoint_auth_method: 'private_key_jwt', token_endpoint_auth_signing_alg: alg, jwks: { keys: [{ ...createPublicKey(key).export({ format: 'jwk' }), kid: 'a', alg, use: 'sig' }] }
    })
    const define = (privateKey: NonNullable<Provider['privateKey']>): Provider =>
      defineProvider({ name: 'Acme', issuer, clientId: 'example', privateKey, scopes: ['issues:read'], apiOrigins: ['https://api.acme.example'], [allowLoopbackHttp]: true })
    const provider = define({ key, alg, kid: 'a' })
    const { refresh_token: refreshToken = '', ...tokens } = await exchange(provider, authorize)
    t.match(tokens, { access_token: /./, scope: 'issues:read' }, alg)
    t.match(await refreshTokens(await createConfigurations()(provider), provider, refreshToken), { kind: 'tokens' })

    const other = define({ key: alg.startsWith('ES') ? generateKeyPairSync('ec', { namedCurve: alg === 'ES256' ? 'P-256' : 'P-521' }).privateKey : generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey, alg, kid: 'a' })
    await t.rejects(exchange(other, authorize), { code: 'FST_MCP_CONNECT_EXCHANGE_FAILED', message: /invalid_client$/ })
    t.match(await refreshTokens(await createConfigurations()(other), other, refreshToken), { kind: 'misregistered', reason: 'invalid_client' })
  }
})

t.test('the other ways: a secret in a header, in the body, and none', async t => {
  for (const way of ['client_secret_basic', 'client_secret_post', 'none'] as const) {
    const { issuer, authorize } = await startReal(t, { token_endpoint_auth_method: way, ...way !== 'none' && { client_secret: 'c'.repeat(43) } })
    const provider = defineProvider({
      name: 'Acme', issuer, clientId: 'example', scopes: ['issues:read'], apiOrigins: ['https://api.acme.example'], [allowLoopbackHttp]: true, ...way !== 'none' && { clientSecret: 'c'.repeat(43), clientAuthentication: way }
    })
    const { refresh_token: refreshToken = '' } = await exchange(provider, authorize)
    t.match(await refreshTokens(await createConfigurations()(provider), provider, refreshToken), { kind: 'tokens' }, way)
  }
})

t.test('oidcLogin authenticates so, too, also where the server does not announce PKCE', async t => {
  const server = await startWithLogin(t, {
    client: { client_secret: undefined, token_endpoint_auth_method: 'private_key_jwt', token_endpoint_auth_signing_alg: 'ES256', jwks: { keys: [{ ...createPublicKey(ec).export({ format: 'jwk' }), use: 'sig' }] } },
    login: { privateKey: ec.export({ format: 'jwk' }) }
  })
  const { fetch } = undici
  let stripped = 0
  t.intercept(undici, 'fetch', {
    value: async (url: string, init: undici.RequestInit) => {
      const response = await fetch(url, init)
      if (!url.endsWith('/.well-known/openid-configuration')) return response
      const { code_challenge_methods_supported: methods, ...metadata } = await response.json() as Record<string, unknown>
      stripped += Number(Array.isArray(methods))
      return Response.json(metadata)
    }
  })
  const person = server.person('alice')
  t.equal((await person.signIn()).statusCode, 303)
  t.equal(stripped, 1)
  t.match((await person.browser.get('/connect')).body, 'Your connections')
})
