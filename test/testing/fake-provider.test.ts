import t from 'tap'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import type { FakeQuirks } from '../../lib/testing/index.js'
import { startFakeProvider } from '../../lib/testing/index.js'
import { plainClient, REDIRECT_URI } from '../fixtures/plain-client.js'
import { fakePreset, startFake } from '../fixtures/presets.js'

t.test('without quirks: a code for tokens, with PKCE, once', async t => {
  const fake = await startFake(t)
  const client = plainClient(fake, { scopes: ['a', 'b'] })
  const response = (await client.authorize())!
  t.strictSame(Object.fromEntries(response.searchParams), { code: response.searchParams.get('code'), state: 'the state', iss: fake.issuer })
  t.equal(response.origin + response.pathname, REDIRECT_URI)
  const { status, body, headers } = await client.exchange(response)
  t.equal(status, 200)
  t.equal(headers.get('cache-control'), 'no-store')
  t.match(body, { token_type: 'Bearer', expires_in: 3600, scope: 'a b', access_token: /^[\w-]{43}$/, refresh_token: /^[\w-]{43}$/ })
  t.match(await client.api(body['access_token']), { status: 200, body: { account: { subject: 'alice' }, scopes: ['a', 'b'] } })
  t.match(await client.identity(body['access_token']), { status: 200, body: { sub: 'alice', email: 'alice@example.com' } })
  t.match(await client.exchange(response), { status: 400, body: { error: 'invalid_grant' } }, 'the code is spent')
  t.match(fake.counts, { authorizations: 1, exchanges: 1, refreshes: 0, reuses: 0, revocations: 0, refusals: 1 })
})

t.test('what does not belong to the code is refused, and spends it', async t => {
  const fake = await startFake(t)
  const client = plainClient(fake)
  for (const change of [{ code_verifier: 'x'.repeat(43) }, { redirect_uri: 'https://evil.example' }, { code: 'none' }]) {
    t.match(await client.exchange((await client.authorize())!, change), { status: 400, body: { error: 'invalid_grant' } })
  }
  t.equal(fake.counts.exchanges, 0)
})

t.test('authorization requests that are incomplete', async t => {
  const fake = await startFake(t, { redirectUris: [REDIRECT_URI], requiredParameters: { owner: 'user' } })
  const client = plainClient(fake, { authorizationParameters: { owner: 'user' } })
  t.ok((await client.authorize())?.searchParams.has('code'))
  for (const change of [{ redirect_uri: 'https://evil.example' }, { client_id: 'other' }, { redirect_uri: undefined }]) t.equal(await client.authorize(change), null)
  for (const change of [{ owner: undefined }, { code_challenge: undefined }, { code_challenge_method: 'plain' }, { response_type: 'token' }]) {
    t.equal((await client.authorize(change))?.searchParams.get('error'), 'invalid_request')
  }
})

t.test('PKCE: optional, or not looked at', async t => {
  const optional = plainClient(await startFake(t, { pkce: 'optional' }))
  const bare = { code_challenge: undefined, code_challenge_method: undefined }
  t.equal((await optional.exchange((await optional.authorize(bare))!)).status, 400, 'a verifier without a challenge')
  t.equal((await optional.connect()).status, 200)
  const ignored = plainClient(await startFake(t, { pkce: 'ignored' }))
  t.equal((await ignored.exchange((await ignored.authorize())!, { code_verifier: 'wrong' })).status, 200)
})

t.test('somebody else, who does not agree', async t => {
  const fake = await startFake(t, { namesIssuer: false })
  const client = plainClient(fake)
  fake.decision = 'deny'
  t.strictSame(Object.fromEntries((await client.authorize())!.searchParams), { error: 'access_denied', state: 'the state' })
  Object.assign(fake, { decision: 'allow', account: { subject: 7 } })
  const { tokens } = await client.connect()
  t.strictSame((await client.identity(tokens['access_token'])).body, { sub: 7 })
})

t.test('clients authenticate in one way', async t => {
  for (const only of ['client_secret_basic', 'client_secret_post'] as const) {
    const fake = await startFake(t, { clientAuthentication: only })
    for (const clientAuthentication of ['client_secret_basic', 'client_secret_post'] as const) {
      t.equal((await plainClient(fake, { clientAuthentication }).connect()).status, only === clientAuthentication ? 200 : 400, `${only}, ${clientAuthentication}`)
    }
    t.match(await plainClient(fake, { clientAuthentication: only, clientSecret: 'wrong' }).connect(), { status: 400, body: { error: 'invalid_client' } })
  }
  const client = plainClient(await startFake(t))
  t.match(await client.exchange((await client.authorize())!, { client_id: 'client', client_secret: 'secret' }), { body: { error: 'invalid_client' } }, 'or in two at once')
})

t.test('Basic credentials that are encoded, where they are decoded and where they are not', async t => {
  for (const [decodesCredentials, code] of [[true, 'invalid_grant'], [false, 'invalid_client']] as const) {
    const fake = await startFake(t, { clientId: 'a-b', decodesCredentials })
    t.equal((await plainClient(fake, { clientId: 'a-b' }).connect()).status, 200)
    const response = await fetch(fake.endpoints.refresh, {
      method: 'POST', headers: { authorization: `Basic ${Buffer.from('a%2Db:secret').toString('base64')}` }, body: new URLSearchParams({ grant_type: 'refresh_token' })
    })
    t.match(await response.json(), { error: code })
  }
})

t.test('token requests have one format', async t => {
  for (const only of ['form', 'json'] as const) {
    const fake = await startFake(t, { tokenRequestFormat: only })
    for (const tokenRequestFormat of ['form', 'json'] as const) t.equal((await plainClient(fake, { tokenRequestFormat }).connect()).status, only === tokenRequestFormat ? 200 : 400, `${only}, ${tokenRequestFormat}`)
  }
})

t.test('headers that must be there', async t => {
  const fake = await startFake(t, { requiredHeaders: { 'notion-version': '2025-09-03', 'x-any': '' } })
  for (const [requestHeaders, status] of [[{}, 400], [{ 'notion-version': '1', 'x-any': '1' }, 400], [{ 'notion-version': '2025-09-03', 'x-any': '1' }, 200]] as const) {
    t.equal((await plainClient(fake, { requestHeaders }).connect()).status, status)
  }
})

t.test('scopes: where they stand, what separates them, what they are called, which are granted', async t => {
  const fake = await startFake(t, {
    scopeParameter: 'user_scope',
    requestScopeSeparator: ',',
    scopeSeparator: ',',
    scopeNames: { email: 'https://example.com/Email', offline_access: '' },
    lowerCaseScopes: true,
    withheldScopes: ['admin'],
    addedScopes: ['read']
  })
  const client = plainClient(fake, { scopes: ['Mail.Read', 'email', 'admin', 'offline_access'], scopeParameter: 'user_scope', requestScopeSeparator: ',' })
  const { tokens } = await client.connect()
  t.equal(tokens['scope'], 'mail.read,https://example.com/email,read')
  t.strictSame((await client.api(tokens['access_token'])).body['scopes'], ['Mail.Read', 'email', 'offline_access', 'read'])
  t.equal((await client.authorize({ user_scope: 'a b' }))?.searchParams.get('error'), 'invalid_scope', 'another separator')
})

t.test('scopes that are not told, or not again', async t => {
  for (const [tellsScopes, first, then] of [[false, undefined, undefined], ['exchange', 'a', undefined], [true, 'a', 'a']] as const) {
    const client = plainClient(await startFake(t, { tellsScopes }), { scopes: ['a'] })
    const { tokens } = await client.connect()
    t.equal(tokens['scope'], first)
    t.equal((await client.refresh(tokens['refresh_token'])).tokens['scope'], then)
  }
})

t.test('tokens inside of another object, also or not in the answer to a refresh', async t => {
  for (const nestsRefresh of [true, false]) {
    const client = plainClient(await startFake(t, { tokenResponsePath: 'authed_user.tokens', nestsRefresh, extraMembers: { ok: true }, tokenType: 'user' }), { tokenResponsePath: 'authed_user.tokens' })
    const { body, tokens } = await client.connect()
    t.match(body, { ok: true, authed_user: { tokens: { access_token: String, token_type: 'user' } } })
    t.notOk('access_token' in body)
    t.equal('access_token' in (await client.refresh(tokens['refresh_token'])).body, !nestsRefresh)
  }
})

t.test('lifetimes: told or not, they end', async t => {
  let now = Date.now()
  for (const tellsExpiry of [true, false]) {
    const fake = await startFake(t, { accessTokenTtlSeconds: 60, tellsExpiry, now: () => now })
    const client = plainClient(fake)
    const { tokens } = await client.connect()
    t.equal(tokens['expires_in'], tellsExpiry ? 60 : undefined)
    now += 59_999
    t.equal((await client.api(tokens['access_token'])).status, 200)
    now++
    t.equal((await client.api(tokens['access_token'])).status, 401)
    const refreshed = (await client.refresh(tokens['refresh_token'])).tokens
    t.equal((await client.api(refreshed['access_token'])).status, 200)
    fake.expireAccessTokens()
    t.equal((await client.api(refreshed['access_token'])).status, 401)
    t.equal((await client.refresh(refreshed['refresh_token'])).status, 200)
  }
})

t.test('refresh tokens that are used once: a second use ends the grant', async t => {
  const fake = await startFake(t)
  const client = plainClient(fake)
  const other = (await client.connect()).tokens
  const first = (await client.connect()).tokens
  const second = (await client.refresh(first['refresh_token'])).tokens
  t.not(second['refresh_token'], first['refresh_token'])
  t.equal((await client.api(second['access_token'])).status, 200)
  t.match(await client.refresh(first['refresh_token']), { status: 400, body: { error: 'invalid_grant' } })
  t.equal(fake.counts.reuses, 1)
  t.equal((await client.refresh(second['refresh_token'])).status, 400, 'the newest is dead, too')
  t.equal((await client.api(second['access_token'])).status, 401)
  t.equal((await client.api(other['access_token'])).status, 200, 'the grant of another authorization is not')
  t.match(fake.counts, { refreshes: 1, reuses: 1 }, 'what is dead is not counted again')
})

t.test('other refresh tokens', async t => {
  for (const [refreshTokens, comes, repeats, renews] of [['renewed', true, true, true], ['lasting', true, true, false], ['silent', true, false, false], ['none', false, false, false]] as const) {
    const fake = await startFake(t, { refreshTokens })
    const client = plainClient(fake)
    const { tokens } = await client.connect()
    t.equal(typeof tokens['refresh_token'] === 'string', comes, refreshTokens)
    if (!comes) continue
    const again = (await client.refresh(tokens['refresh_token'])).tokens
    t.equal('refresh_token' in again, repeats, refreshTokens)
    if (repeats) t.equal(again['refresh_token'] !== tokens['refresh_token'], renews, refreshTokens)
    t.equal((await client.refresh(tokens['refresh_token'])).status, 200, 'the first can be used again')
    t.equal(fake.counts.reuses, 0)
  }
})

t.test('refresh tokens that must be asked for', async t => {
  const quirks: FakeQuirks = { offlineParameters: { access_type: 'offline' }, offlineScope: 'offline_access' }
  for (const [authorizationParameters, scopes, comes] of [[{}, ['offline_access'], false], [{ access_type: 'offline' }, [], false], [{ access_type: 'offline' }, ['offline_access'], true]] as const) {
    const { tokens } = await plainClient(await startFake(t, quirks), { authorizationParameters, scopes }).connect()
    t.equal('refresh_token' in tokens, comes)
  }
})

t.test('another address for refreshes, at which nothing else is done', async t => {
  const fake = await startFake(t, { paths: { token: '/v1/token', refresh: '/v1/refresh' } })
  const client = plainClient(fake)
  const { tokens } = await client.connect()
  t.equal(fake.endpoints.refresh, `${fake.issuer}/v1/refresh`)
  t.equal((await client.refresh(tokens['refresh_token'])).status, 200)
  const elsewhere = plainClient({ ...fake, endpoints: { ...fake.endpoints, refresh: fake.endpoints.token, token: fake.endpoints.refresh } })
  t.equal((await elsewhere.refresh(tokens['refresh_token'])).status, 404)
  t.equal((await elsewhere.connect()).status, 400)
})

t.test('errors of its own making, where it puts them', async t => {
  const client = plainClient(await startFake(t, { errorStatus: 200, errorCodes: { dead: 'BAD_REFRESH_TOKEN' }, errorMember: 'status', errorMembers: { ok: false } }))
  t.match(await client.refresh('none'), { status: 200, body: { status: 'BAD_REFRESH_TOKEN', ok: false } })
  t.notOk('error' in (await client.refresh('none')).body)
  const { fake, provider } = await fakePreset(t, 'github', { refreshTokens: 'single-use' })
  t.match(await plainClient(fake, provider).refresh('none'), { status: 200, body: { error: 'bad_refresh_token' } })
  t.match(await plainClient(fake, { ...provider, clientSecret: 'wrong' }).refresh('none'), { status: 200, body: { error: 'incorrect_client_credentials' } })
})

t.test('what is made to happen, in the order in which it was planned, and no more often', async t => {
  const fake = await startFake(t, { retryAfterSeconds: 7 })
  const client = plainClient(fake)
  const { tokens } = await client.connect()
  fake.next('refresh', 'unavailable')
  fake.next('refresh', 'limited', 2)
  fake.next('refresh', 'broken')
  fake.next('refresh', 'garbage')
  fake.next('refresh', 'dead')
  fake.next('refresh', 'misregistered')
  fake.next('refresh', 'drop')
  const expected = [[503, '7'], [429, '7'], [429, '7'], [500, null], [200, null], [400, null], [400, null]] as const
  const codes = []
  for (const [status, retryAfter] of expected) {
    const answer = await client.refresh(tokens['refresh_token'])
    t.equal(answer.status, status)
    t.equal(answer.headers.get('retry-after'), retryAfter)
    codes.push(answer.body['error'])
  }
  t.strictSame(codes.slice(-2), ['invalid_grant', 'invalid_client'])
  await t.rejects(client.refresh(tokens['refresh_token']), { message: 'fetch failed' })
  t.equal(fake.counts.refreshes, 0)
  t.equal((await client.refresh(tokens['refresh_token'])).status, 200, 'nothing of it has spent the token')
})

t.test('an answer that is lost has spent the token', async t => {
  const fake = await startFake(t)
  const client = plainClient(fake)
  const { tokens } = await client.connect()
  fake.next('refresh', 'lose')
  await t.rejects(client.refresh(tokens['refresh_token']), { message: 'fetch failed' })
  t.match(fake.counts, { refreshes: 1, reuses: 0 })
  t.match(await client.refresh(tokens['refresh_token']), { body: { error: 'invalid_grant' } })
  t.equal(fake.counts.reuses, 1)
})

t.test('no answer at all, until it is closed', async t => {
  const fake = await startFake(t)
  fake.next('api', 'hang')
  const waiting = fetch(fake.endpoints.api).then(() => 'answered', () => 'broken')
  while (fake.requests.length === 0) await new Promise(resolve => setImmediate(resolve))
  await fake.close()
  t.equal(await waiting, 'broken')
  await fake.close()
})

t.test('other endpoints can be made to fail, too', async t => {
  const fake = await startFake(t)
  const client = plainClient(fake)
  fake.next('authorization', 'unavailable')
  t.equal(await client.authorize(), null)
  fake.next('exchange', 'limited')
  t.equal((await client.exchange((await client.authorize())!)).status, 429)
  const { tokens } = await client.connect()
  fake.next('identity', 'unavailable')
  t.equal((await client.identity(tokens['access_token'])).status, 503)
  fake.next('api', 'limited')
  t.equal((await client.api(tokens['access_token'])).status, 429)
  fake.next('revocation', 'unavailable')
  t.equal(await client.revoke(tokens), 503)
  t.equal((await client.api(tokens['access_token'])).status, 200)
})

t.test('revocation: by RFC 7009, by the access token, in JSON, or not at all', async t => {
  for (const revocation of ['rfc7009', 'bearer', 'json', 'none'] as const) {
    const fake = await startFake(t, { revocation })
    const client = plainClient(fake)
    const { tokens } = await client.connect()
    const url = fake.endpoints.revocation
    const basic = `Basic ${Buffer.from('client:secret').toString('base64')}`
    const token = String(tokens['access_token'])
    const requests: Record<string, RequestInit> = {
      rfc7009: { headers: { authorization: basic }, body: new URLSearchParams({ token }) },
      bearer: { headers: { authorization: `Bearer ${token}` } },
      json: { headers: { authorization: basic, 'content-type': 'application/json' }, body: JSON.stringify({ access_token: token }) },
      none: { headers: { authorization: basic }, body: new URLSearchParams({ token }) }
    }
    if (revocation === 'rfc7009' || revocation === 'json') t.equal((await fetch(url, { method: 'POST', body: new URLSearchParams({ token }) })).status, 400, 'without the client')
    t.equal((await fetch(url, { method: 'POST', ...requests[revocation] })).status, revocation === 'none' ? 404 : 200, revocation)
    t.equal((await client.api(token)).status, revocation === 'none' ? 200 : 401, revocation)
    if (revocation !== 'none') t.equal((await client.refresh(tokens['refresh_token'])).status, 400, 'the whole grant is gone')
    t.equal(fake.counts.revocations, revocation === 'none' ? 0 : 1)
  }
  const client = plainClient(await startFake(t))
  t.equal(await client.revoke({ access_token: 'none' }), 200, 'a token that nobody knows')
})

t.test('people take access back at the provider', async t => {
  const fake = await startFake(t)
  const client = plainClient(fake)
  const { tokens } = await client.connect()
  fake.revokeGrants()
  t.equal((await client.api(tokens['access_token'])).status, 401)
  t.equal((await client.refresh(tokens['refresh_token'])).body['error'], 'invalid_grant')
  t.equal((await client.connect()).status, 200)
})

t.test('the identity: at a path of its own, for some scopes, or beside the tokens', async t => {
  const at = await startFake(t, { identity: { in: 'endpoint', method: 'POST', subject: 'data.viewer.id', label: 'data.viewer.email' }, identityScopes: ['me', 'all'] })
  for (const [scopes, status] of [[[], 403], [['other'], 403], [['me'], 200]] as const) {
    const client = plainClient(at, { scopes, identity: { method: 'POST', subject: 'data.viewer.id' } })
    const { tokens } = await client.connect()
    const { status: found, body } = await client.identity(tokens['access_token'])
    t.equal(found, status)
    if (status === 200) t.strictSame(body, { data: { viewer: { id: 'alice', email: 'alice@example.com' } } })
  }
  t.equal((await plainClient(at).identity('none')).status, 404, 'only by POST')
  const beside = plainClient(await startFake(t, { identity: { in: 'token response', subject: 'bot_id', label: 'workspace_name' }, tokenResponsePath: 'inner' }), { tokenResponsePath: 'inner' })
  t.match((await beside.connect()).body, { bot_id: 'alice', workspace_name: 'alice@example.com', inner: { access_token: String } })
})

t.test('OpenID Connect: metadata, an id_token with the nonce, keys', async t => {
  const fake = await startFake(t, { scopesSupported: ['openid', 'offline_access'] })
  for (const path of ['openid-configuration', 'oauth-authorization-server']) {
    t.match(await (await fetch(`${fake.issuer}/.well-known/${path}`)).json(), {
      issuer: fake.issuer, token_endpoint: fake.endpoints.token, code_challenge_methods_supported: ['S256'], scopes_supported: ['openid', 'offline_access'], revocation_endpoint: fake.endpoints.revocation
    })
  }
  const client = plainClient(fake, { scopes: ['openid'] })
  const { tokens } = await client.exchange((await client.authorize({ nonce: 'the nonce' }))!)
  const { payload } = await jwtVerify(String(tokens['id_token']), createRemoteJWKSet(new URL(`${fake.issuer}/jwks`)), { issuer: fake.issuer, audience: 'client' })
  t.match(payload, { sub: 'alice', email: 'alice@example.com', nonce: 'the nonce' })
  t.equal((await fetch(`${(await startFake(t, { metadata: false })).issuer}/.well-known/openid-configuration`)).status, 404)
})

t.test('requests are kept as they came', async t => {
  const fake = await startFake(t)
  await plainClient(fake).connect()
  t.match(fake.requests, [{ method: 'GET', path: '/authorize', parameters: { client_id: 'client' } }, { method: 'POST', path: '/token', type: 'application/x-www-form-urlencoded', parameters: { grant_type: 'authorization_code' } }])
})

t.test('a preset with other ways', async t => {
  const { fake, provider } = await fakePreset(t, 'github', { refreshTokens: 'single-use', tellsExpiry: true, accessTokenTtlSeconds: 28_800 })
  const { tokens } = await plainClient(fake, provider).connect()
  t.match(tokens, { expires_in: 28_800, refresh_token: String, scope: 'repo,read:org' })
})

t.test('several at once, each for itself', async t => {
  const fakes = await Promise.all([startFakeProvider(), startFakeProvider()])
  t.not(fakes[0].issuer, fakes[1].issuer)
  const { tokens } = await plainClient(fakes[0]).connect()
  t.equal((await plainClient(fakes[1]).api(tokens['access_token'])).status, 401)
  await Promise.all(fakes.map(async fake => await fake.close()))
})
