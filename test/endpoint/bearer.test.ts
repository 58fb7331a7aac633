import { randomBytes } from 'node:crypto'
import { request as rawRequest } from 'node:http'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { allowLoopbackHttp } from '../../lib/endpoint/index.js'
import { INITIALIZE, sdks, seen, startEndpoint, startIssuer, type Endpoint } from '../fixtures/endpoint.js'

const start = async (t: Test, options?: Parameters<typeof startEndpoint>[2]): Promise<Endpoint> => await startEndpoint(t, () => sdks.v1(seen()), options)

const now = (): number => Math.floor(Date.now() / 1000)

t.test('an access token is verified: signature, issuer, audience, expiry, subject and client', async t => {
  const { token, request, issuer, servers, url, log } = await start(t)
  const challenge = `Bearer error="invalid_token", resource_metadata="${url.origin}/.well-known/oauth-protected-resource/mcp", scope="mcp:tools"`
  const bad: Record<string, string> = {
    'another issuer': await token('a', { iss: 'https://other.example.com' }),
    'the issuer with a slash': await token('a', { iss: `${issuer.issuer}/` }),
    'another audience': await token('a', { aud: 'https://other.example.com/mcp' }),
    'the audience with a slash': await token('a', { aud: `${url.href}/` }),
    'no audience': await token('a', { aud: undefined }),
    'it has expired': await token('a', { exp: now() - 31 }),
    'no expiry': await token('a', { exp: undefined }),
    'not yet': await token('a', { nbf: now() + 60 }),
    'no subject': await token('a', { sub: undefined }),
    'an empty subject': await token(''),
    'no client': await token('a', { client_id: undefined }),
    'a client that is none': await token('a', { client_id: { id: 'client-1' } }),
    'an unknown key': await issuer.sign({}, { kid: 'other' }),
    unsigned: `${Buffer.from('{"alg":"none"}').toString('base64url')}.${(await token()).split('.')[1]}.`,
    'another signature': (await token()).replace(/[^.]+$/, randomBytes(256).toString('base64url')),
    'no JWT': randomBytes(32).toString('base64url')
  }
  const claims = { iss: issuer.issuer, aud: url.href, sub: 'a', client_id: 'client-1', scope: 'mcp:tools', exp: now() + 60 }
  for (const typ of ['logout+jwt', 'dpop+jwt', 'secevent+jwt', 'application/logout+jwt', 'at+jwtx', '']) bad[`a token of the type ${typ}`] = await issuer.sign(claims, { typ })
  for (const [name, one] of Object.entries(bad)) {
    const response = await request('POST', one, INITIALIZE)
    t.equal(response.status, 401, name)
    t.equal(response.headers.get('www-authenticate'), challenge, name)
    t.match(await response.json(), { jsonrpc: '2.0', id: null, error: { code: -32000 } })
  }
  const reasons = log.map(line => JSON.parse(line) as { level: number, reason?: string }).filter(({ reason }) => reason !== undefined)
  t.equal(reasons.length, Object.keys(bad).length)
  t.ok(reasons.every(({ level }) => level === 30))
  t.match(reasons.map(({ reason }) => reason).join(), /it has expired,.*its sub .*it names no client.*ERR_JWKS_NO_MATCHING_KEY/)
  const told = (words: string): number => reasons.filter(({ reason }) => reason === words).length
  t.equal(told(`its iss is not ${issuer.issuer} (auth.issuer)`), 2, 'what was expected is configuration')
  t.equal(told(`its aud is not ${url.href} (auth.resource)`), 3)

  t.equal(servers.length, 0, 'nothing was made for them')
  t.equal((await request('POST', await token('a', { exp: now() - 20 }), INITIALIZE)).status, 200, 'clocks differ')
  t.equal((await request('POST', await token('a', { aud: [url.href, 'https://other.example.com'] }), INITIALIZE)).status, 200)
  for (const typ of [undefined, 'JWT', 'jwt', 'at+jwt', 'AT+JWT', 'application/at+jwt']) t.equal((await request('POST', await issuer.sign(claims, { typ }), INITIALIZE)).status, 200, `of the type ${typ}`)
  const written = log.join('')
  for (const part of [...Object.values(bad), await token()].flatMap(token => token.split('.').filter(part => part.length > 40))) t.notOk(written.includes(part), 'no token is logged')
})

t.test('a token counts in the Authorization header alone', async t => {
  const { token, request, url } = await start(t)
  const good = await token()
  const challenge = `Bearer resource_metadata="${url.origin}/.well-known/oauth-protected-resource/mcp", scope="mcp:tools"`
  const ask = async (headers: Record<string, string>, query = ''): Promise<Response> => await fetch(`${url.href}${query}`, {
    method: 'POST', body: JSON.stringify(INITIALIZE), headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json', ...headers }
  })
  for (const response of [await request('POST', null, INITIALIZE), await ask({}, `?access_token=${good}`), await ask({ authorization: `Basic ${good}` }), await ask({ cookie: `access_token=${good}` })]) {
    t.equal(response.status, 401)
    t.equal(response.headers.get('www-authenticate'), challenge, 'there is no error, since there is no token')
  }
  t.equal((await ask({ authorization: `bearer ${good}` })).status, 200, 'the scheme in any case')
})

t.test('handlers get the verified claims, by whichever name the server calls client and scopes', async t => {
  for (const [sdk, create] of Object.entries(sdks)) {
    const calls = seen()
    const { token, request, initialize, issuer, url } = await startEndpoint(t, () => create(calls))
    const cases = [
      [{}, 'client-1', ['openid', 'mcp:tools']],
      [{ client_id: undefined, azp: 'client-2', cid: 'no' }, 'client-2', ['openid', 'mcp:tools']],
      [{ client_id: undefined, cid: 'client-3', scope: undefined, scp: ['mcp:tools', 'more'] }, 'client-3', ['mcp:tools', 'more']],
      [{ scope: undefined, scp: 'more mcp:tools', tid: 'tenant' }, 'client-1', ['more', 'mcp:tools']]
    ] as const
    for (const [change, clientId, scopes] of cases) {
      const own = await token('somebody', change)
      const session = await initialize(own)
      await (await request('POST', own, { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'whoami', arguments: {} } }, { 'mcp-session-id': session })).text()
      const { exp, ...claims } = JSON.parse(Buffer.from(own.split('.')[1]!, 'base64url').toString())
      t.strictSame(calls.authInfo.at(-1), { token: own, clientId, scopes, expiresAt: exp, extra: { exp, ...claims } }, sdk)
      t.match(claims, { iss: issuer.issuer, aud: url.href })
    }
  }
})

t.test('a token that lacks a scope is told which are needed', async t => {
  const { token, request, url, servers } = await start(t, { auth: { scopes: ['mcp:tools', 'mcp:more'] } })
  for (const scope of ['mcp:tools', 'mcp:toolsmcp:more', 'mcp:tools,mcp:more', undefined]) {
    const response = await request('POST', await token('a', { scope }), INITIALIZE)
    t.equal(response.status, 403)
    t.equal(response.headers.get('www-authenticate'), `Bearer error="insufficient_scope", resource_metadata="${url.origin}/.well-known/oauth-protected-resource/mcp", scope="mcp:tools mcp:more"`)
  }
  t.equal(servers.length, 0)
  t.equal((await request('POST', await token('a', { scope: 'mcp:more mcp:tools' }), INITIALIZE)).status, 200)
})

t.test('keys are found by the issuer\'s metadata, once; a new key is found, too', async t => {
  const { token, request, issuer } = await start(t)
  t.strictSame(issuer.requests, [], 'not before they are needed')
  await Promise.all([1, 2, 3].map(async () => await request('POST', await token(), INITIALIZE)))
  t.strictSame(issuer.requests, ['/.well-known/openid-configuration', '/jwks'])
  await issuer.rotate()
  const { now } = Date
  t.intercept(Date, 'now', { value: () => now() + 31_000 })      // jose waits so long before it looks for another key
  t.equal((await request('POST', await token(), INITIALIZE)).status, 200)
})

t.test('or where jwksUri says, without asking the metadata', async t => {
  const elsewhere = await startIssuer(t)
  const { issuer, request, url } = await start(t, { auth: { jwksUri: `${elsewhere.issuer}/jwks` } })
  const claims = { iss: issuer.issuer, aud: url.href, sub: 'a', client_id: 'c', scope: 'mcp:tools', exp: now() + 60 }
  t.equal((await request('POST', await elsewhere.sign(claims), INITIALIZE)).status, 200)
  t.equal((await request('POST', await issuer.sign(claims), INITIALIZE)).status, 401)
  t.strictSame([issuer.requests, elsewhere.requests], [[], ['/jwks']])
})

t.test('keys that cannot be had are no fault of the token: 503, and later it works', async t => {
  const broken: ReadonlyArray<readonly [string, (endpoint: Endpoint) => void, status?: number]> = [
    ['no metadata', ({ issuer }) => { issuer.answers.set('/.well-known/openid-configuration', (_request, response) => response.writeHead(500).end()) }],
    ['metadata of another issuer', ({ issuer }) => { issuer.metadata['issuer'] = 'https://other.example.com' }],
    ['metadata without keys', ({ issuer }) => { delete issuer.metadata['jwks_uri'] }],
    ['keys that are not there', ({ issuer }) => { issuer.answers.set('/jwks', (_request, response) => response.writeHead(404).end()) }, 404],
    ['keys that are moved', ({ issuer }) => { issuer.answers.set('/jwks', (_request, response) => response.writeHead(302, { location: '/other' }).end()) }, 302],
    ['keys that are none', ({ issuer }) => { issuer.answers.set('/jwks', (_request, response) => response.end('[]')) }],
    ['OAR-28 keys that are too many', ({ issuer }) => { issuer.answers.set('/jwks', (_request, response) => response.end(' '.repeat(70_000))) }],
    ['OAR-28 keys inside the network', ({ issuer }) => { issuer.metadata['jwks_uri'] = 'https://169.254.169.254/jwks' }],
    ['a connection that breaks', ({ issuer }) => { issuer.answers.set('/jwks', request => request.socket.destroy()) }]
  ]
  for (const [name, breakIt, status] of broken) {
    await t.test(name, async t => {
      const endpoint = await start(t)
      const { request, token, issuer, log, servers } = endpoint
      const { jwks_uri: jwksUri } = issuer.metadata
      breakIt(endpoint)
      const good = await token()
      const response = await request('POST', good, INITIALIZE)
      t.equal(response.status, 503)
      t.match(Number(response.headers.get('retry-after')), 5)
      t.notOk(response.headers.has('www-authenticate'))
      t.equal(servers.length, 0)
      t.match(log.join(''), /FST_MCP_CONNECT_PROVIDER_(UNAVAILABLE|MISCONFIGURED)/)
      if (status !== undefined) t.match(log.join(''), `the keys: answered ${status}`)
      t.notOk(log.join('').includes(good))

      issuer.answers.clear()
      Object.assign(issuer.metadata, { issuer: issuer.issuer, jwks_uri: jwksUri })
      const { now } = Date
      // A failure of the metadata lasts for some seconds, and metadata that were good for an hour.
      t.intercept(Date, 'now', { value: () => now() + 3_601_000 })
      const retried = async (): Promise<number> => (await request('POST', await token(), INITIALIZE)).status
      let tries = 0
      while (await retried() !== 200 && tries < 100) tries++        // what is known is used while it is renewed
      t.ok(tries < 100)
    })
  }
})

t.test('OAR-28 keys come from public addresses, or those that privateHosts names', async t => {
  const { token, request, log } = await start(t, { auth: { [allowLoopbackHttp]: false, issuer: 'https://localhost:4430' } })
  t.equal((await request('POST', await token('a', { iss: 'https://localhost:4430' }), INITIALIZE)).status, 503)
  t.match(log.join(''), /not_public \(the address of localhost/)
})

t.test('protected resource metadata are there for pages of any origin', async t => {
  const { url, issuer } = await start(t)
  const address = `${url.origin}/.well-known/oauth-protected-resource/mcp`
  const response = await fetch(address, { headers: { origin: 'https://inspector.example.com' } })
  t.equal(response.headers.get('access-control-allow-origin'), '*')
  t.strictSame(await response.json(), { resource: url.href, authorization_servers: [issuer.issuer], bearer_methods_supported: ['header'], scopes_supported: ['mcp:tools'] })
  const preflight = await fetch(address, { method: 'OPTIONS', headers: { origin: 'https://inspector.example.com', 'access-control-request-headers': 'mcp-protocol-version' } })
  t.equal(preflight.status, 204)
  t.equal(preflight.headers.get('access-control-allow-headers'), 'mcp-protocol-version')

  const without = await start(t, { auth: { scopes: [] } })
  t.notOk('scopes_supported' in (await (await fetch(`${without.url.origin}/.well-known/oauth-protected-resource/mcp`)).json() as object))
  t.equal((await without.request('POST', null)).headers.get('www-authenticate'), `Bearer resource_metadata="${without.url.origin}/.well-known/oauth-protected-resource/mcp"`)
  t.equal((await without.request('POST', await without.token('a', { scope: undefined }), INITIALIZE)).status, 200)
})

t.test('requests for other hosts and from other web sites are refused, before anything else', async t => {
  const { url, token, issuer, servers } = await start(t, { allowedHosts: ['internal.example.com:8080'], allowedOrigins: ['https://app.example.com'] })
  const bearer = `Bearer ${await token()}`
  const ask = async (headers: Record<string, string>, target = url.pathname): Promise<{ status: number, body: string }> => {
    const sent = rawRequest(url, { method: 'POST', path: target, agent: false, headers: { authorization: bearer, accept: 'application/json, text/event-stream', 'content-type': 'application/json', ...headers } })
    sent.end(JSON.stringify(INITIALIZE))
    const [response] = await once(sent, 'response')
    let body = ''
    for await (const chunk of response) body += chunk
    return { status: response.statusCode, body }
  }
  const refused: ReadonlyArray<Record<string, string>> = [{ host: 'attacker.example.com' }, { host: `attacker.example.com:${url.port}` }, { host: `${url.host}.attacker.example.com` }, { host: '127.0.0.1' }, { origin: 'https://attacker.example.com' },
    { origin: 'null' }, { origin: `https://127.0.0.1:${url.port}` }, { origin: `${url.origin}.attacker.example.com` }, { origin: 'https://app.example.com:8443' }, { authorization: '', host: 'attacker.example.com' }]
  for (const headers of refused) {
    const { status, body } = await ask(headers)
    t.equal(status, 403, JSON.stringify(headers))
    t.match(JSON.parse(body), { jsonrpc: '2.0', id: null, error: { code: -32000, message: /^(This Host is not served here|Requests from this Origin are refused)$/ } })
  }
  t.strictSame([issuer.requests, servers], [[], []], 'no token was looked at')
  const taken: ReadonlyArray<Record<string, string>> = [{}, { host: 'Internal.Example.com:8080' }, { origin: url.origin }, { origin: 'https://app.example.com' }]
  for (const headers of taken) t.equal((await ask(headers)).status, 200, JSON.stringify(headers))

  t.equal((await ask({}, 'http://attacker.example.com/mcp')).status, 403, 'a target that names a host says more than Host')
  t.equal((await ask({ host: 'attacker.example.com' }, url.href)).status, 200)
})

t.test('a request whose target is a whole address is for the host of that, whatever Host says', async t => {
  for (const create of Object.values(sdks)) {
    const { url, token, log } = await startEndpoint(t, () => create(seen()))
    const ask = async (path: string, host: string): Promise<number> => {
      const sent = rawRequest({
        host: url.hostname,
        port: url.port,
        path,
        method: 'POST',
        agent: false,
        headers: { host, authorization: `Bearer ${await token()}`, accept: 'application/json, text/event-stream', 'content-type': 'application/json' }
      })
      sent.end(JSON.stringify(INITIALIZE))
      const [response] = await once(sent, 'response')
      response.resume()
      await once(response, 'end')
      return response.statusCode
    }
    t.equal(await ask(url.href, url.host), 200)
    t.equal(await ask(url.href, 'attacker.example.com'), 200)
    t.equal(await ask('http://attacker.example.com/mcp', url.host), 403)
    t.notOk(log.some(line => JSON.parse(line).level >= 50), 'no failure of ours')
  }
})
