import type { Configuration } from 'oidc-provider'
import t from 'tap'
import undici from 'undici'
import { createMismatches } from '../../lib/browser/mismatches.js'
import { allowLoopbackHttp, oidcLogin } from '../../lib/index.js'
import type { Claims, Principal } from '../../lib/types.js'
import { title } from '../fixtures/browser.js'
import { LOGIN_CALLBACK, startWithLogin } from '../fixtures/login.js'
import { refused, type Refusal } from '../fixtures/refused.js'
import { A, A2, B, BASE_URL, startServer } from '../fixtures/server.js'

// Who the user is, on both sides: in the access token of the MCP client, and in the browser.

/** An authorization server that has other names for its users in access tokens than in id_tokens, as Okta has. */
const otherNames: Configuration = {
  extraTokenClaims: async (_context, token) => ({ uid: 'accountId' in token ? token.accountId : undefined }),
  formats: {
    customizers: { jwt: (_context, token, parts) => { parts.payload.sub = `user-of-${'accountId' in token ? String(token.accountId) : ''}` } }
  }
}

t.test('with resource, the claims are those of the access token that the login is given for it', async t => {
  const seen: Claims[] = []
  const server = await startWithLogin(t, {
    settings: otherNames,
    login: { resource: `${BASE_URL}/mcp`, scopes: ['profile', 'mcp:tools'] },
    principal: claims => {
      seen.push(claims)
      return { issuer: claims['iss'], subject: claims['sub'] }
    }
  })
  const { url } = await server.elicit({ issuer: server.authorizationServer.issuer, subject: 'user-of-employee-1' })
  const { browser, signIn } = server.person('alice')
  await signIn(url)
  t.match(seen.at(-1), { aud: `${BASE_URL}/mcp`, sub: 'user-of-employee-1', client_id: 'web' })
  const page = await browser.get(url)
  t.equal(page.statusCode, 200)
  t.match(page.body, /Your account here<\/dt><dd><strong>alice<\/strong>/)
})

t.test('without it those of the id_token; and a mapping brings both together', async t => {
  const principal = (claims: Claims): Record<keyof Principal, unknown> => ({ issuer: claims['iss'], subject: claims['uid'] ?? claims['sub'], tenant: undefined })
  const server = await startWithLogin(t, { settings: otherNames, principal })
  const session = { claims: { iss: server.authorizationServer.issuer, sub: 'user-of-employee-1', uid: 'employee-1' } }
  const { url } = await server.elicit({ issuer: '', subject: '' }, session)
  const { browser, signIn } = server.person('alice')
  await signIn(url)
  t.equal((await browser.get(url)).statusCode, 200)
  const callback = await server.untilCallback(browser, url)
  t.equal((await browser.get(callback.href)).statusCode, 303)
})

t.test('an access token that is not for this resource, of this issuer, or for ever, signs nobody in', async t => {
  const payloads: Array<[change: object, reason: string]> = [
    [{ aud: 'https://other.example' }, 'its aud is not what it must be'],
    [{ iss: 'https://other.example' }, 'its iss is not what it must be'],
    [{ exp: undefined }, 'its exp is not what it must be']
  ]
  const login = { resource: `${BASE_URL}/mcp`, scopes: ['mcp:tools'] }
  const changed = payloads.map(([change, reason]) => [{
    formats: { customizers: { jwt: (_context: unknown, _token: unknown, parts: { payload: object }) => { Object.assign(parts.payload, change) } } }
  } as Configuration, reason] as const)
  const opaque: Configuration = {
    features: {
      devInteractions: { enabled: false },
      resourceIndicators: { enabled: true, getResourceServerInfo: async () => ({ scope: 'mcp:tools', audience: `${BASE_URL}/mcp`, accessTokenFormat: 'opaque' }) as never }
    }
  }
  for (const [settings, reason] of [...changed, [opaque, 'ERR_JWS_INVALID'] as const]) {
    const server = await startWithLogin(t, { login, settings })
    const { browser, signIn } = server.person('alice')
    t.equal((await signIn()).statusCode, 502)
    t.match(server.log.join(''), `the access token for ${BASE_URL}/mcp cannot be used: ${reason}`)
    t.notOk(browser.cookies.has('__Host-mcp-connect-session'))
  }
})

t.test('REC-14 clocks that differ by seconds keep nobody out', async t => {
  const now = Math.floor(Date.now() / 1000)
  const jwt = (_context: unknown, _token: unknown, parts: { payload: object }): void => { Object.assign(parts.payload, { nbf: now + 15 }) }
  const server = await startWithLogin(t, {
    login: { resource: `${BASE_URL}/mcp`, scopes: ['mcp:tools'] }, settings: { formats: { customizers: { jwt } } } as Configuration
  })
  t.equal((await server.person('alice').signIn()).statusCode, 303)
})

t.test('a UserInfo endpoint that does not answer keeps nobody waiting for long: it is but a name', async t => {
  const server = await startWithLogin(t)
  const { fetch } = undici
  const { setTimeout } = globalThis
  const waits: unknown[] = []
  t.intercept(undici, 'fetch', {
    value: async (url: string, init: undici.RequestInit) => new URL(url).pathname === '/me' ? await new Promise(() => {}) : await fetch(url, init)
  })
  t.intercept(globalThis, 'setTimeout', {
    value: (work: () => void, ms: number, ...args: []) => {
      waits.push(ms)
      return setTimeout(work, ms === 3000 ? 1 : ms, ...args)
    }
  })
  const { browser, signIn } = server.person('alice')
  t.equal((await signIn()).statusCode, 303)
  t.ok(waits.includes(3000))
  t.match((await browser.get('/connect')).body, 'Signed in as <strong>employee-1</strong>')
})

t.test('who wants another account is asked for one, by servers that know how', async t => {
  for (const [settings, prompt] of [[{}, 'login'], [{ discovery: { prompt_values_supported: ['none', 'login', 'select_account'] } as never }, 'select_account']] as const) {
    const server = await startWithLogin(t, { settings })
    const { location } = (await server.browser(null).get('/connect/login?switch=true')).headers
    t.equal(new URL(String(location)).searchParams.get('prompt'), prompt)
    t.equal(new URL(String((await server.browser(null).get('/connect/login')).headers.location)).searchParams.get('prompt'), null)
  }
})

t.test('a pairwise authorization server, which has another sub for each client: a common claim makes one user of them', async t => {
  const settings: Configuration = {
    subjectTypes: ['pairwise', 'public'],
    pairwiseIdentifier: async (_context, accountId, client) => `${accountId}-for-${client.clientId}`,
    claims: { openid: ['sub', 'uid'] },
    findAccount: async (_context, accountId) => ({ accountId, claims: async () => ({ sub: accountId, uid: accountId }) })
  }
  const client = { subject_type: 'pairwise' }
  for (const [claim, statusCode] of [['uid', 200], ['sub', 403]] as const) {
    const server = await startWithLogin(t, { settings, client, principal: claims => ({ issuer: claims['iss'], subject: claims[claim] }) })
    const mcp = { claims: { iss: server.authorizationServer.issuer, sub: 'employee-1-for-mcp', uid: 'employee-1' } }
    const { url } = await server.elicit({ issuer: '', subject: '' }, mcp)
    const { browser, signIn } = server.person('alice')
    await signIn(url)
    t.equal((await browser.get(url)).statusCode, statusCode, claim)
  }
})

t.test('an authorization server that does not announce PKCE, as Entra does not, is taken for the login', async t => {
  const server = await startWithLogin(t)
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
  t.equal((await server.person('alice').signIn()).statusCode, 303)
  t.equal(stripped, 1)
  const publicClient = await startWithLogin(t, { browser: oidcLogin({ issuer: server.authorizationServer.issuer, clientId: 'web', [allowLoopbackHttp]: true }) })
  t.equal((await publicClient.browser(null).get('/connect/login')).statusCode, 502, 'but not for a public client')
  t.match(publicClient.log.join(''), /SIGN_IN_FAILED.*does not list S256/)
})

t.test('what is wrong with a principal is said, on both sides, without repeating it; a promise ends no process', async t => {
  const rejected: unknown[] = []
  const note = (reason: unknown): void => { rejected.push(reason) }
  process.on('unhandledRejection', note)
  t.teardown(() => { process.off('unhandledRejection', note) })
  for (const [made, what] of [
    [{ issuer: 'canary', subject: 42 }, 'its subject is not a string but a number'],
    [{ issuer: '', subject: 'canary', tenant: null }, 'its issuer is empty or too long, its tenant is null'],
    ['canary', 'its issuer is missing, its subject is missing'],
    [undefined, 'its issuer is missing, its subject is missing']
  ] as const) {
    const server = await startWithLogin(t, { principal: () => made as never })
    t.equal((await server.person('alice').signIn()).statusCode, 500)
    const session = await server.openSession({ user: A })
    t.match(await session.client.callTool({ name: 'issues' }), { isError: true, content: [{ text: /needs to know who is asking/ }] })
    const lines = server.log.filter(line => line.includes(what))
    t.equal(lines.length, 2, what)
    t.notMatch(lines.join(''), 'canary')
  }
  const server = await startWithLogin(t, { principal: (async () => { throw new Error('canary') }) as never })
  t.equal((await server.person('alice').signIn()).statusCode, 500)
  const session = await server.openSession({ user: A })
  await session.client.callTool({ name: 'issues' })
  t.equal(server.log.filter(line => line.includes('what it gave is a promise, and it must not be async')).length, 2)
  await new Promise(setImmediate)
  t.strictSame(rejected, [])
})

t.test('claims that make no principal sign nobody in, and the log says whose fault that is', async t => {
  const server = await startWithLogin(t, { principal: claims => ({ issuer: claims['iss'], subject: claims['oid'] }) })
  const { signIn } = server.person('alice')
  t.equal((await signIn()).statusCode, 500)
  t.match(server.log.join(''), /principal\(claims\) must make an object with the non-empty strings issuer and subject/)
})

t.test('when everybody is somebody else, the log calls it a wrong configuration, once, and names nobody', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const strangers = [1, 2, 3, 4].map(number => ({ ...A, subject: `canary-${number}`, issuer: 'https://canary.example' }))
  const found = (): string[] => server.log.filter(line => line.includes('looks like a wrong configuration'))
  for (const [i, user] of strangers.entries()) {
    t.equal((await server.browser(user).get(url)).statusCode, 403)
    await server.browser(user).get(url)
    t.equal(found().length, i < 2 ? 0 : 1)
  }
  t.match(found()[0], /differ in: issuer, subject/)
  t.notMatch(server.log.join(''), 'canary')
})

t.test('and not when somebody is who they are: then it may be an attack', t => {
  const lines: string[] = []
  const { note } = createMismatches({ error: (line: string) => { lines.push(line) } } as never)
  note(B, ['subject'])
  note(A, [])
  for (let i = 0; i < 10; i++) note({ ...B, subject: String(i) }, ['subject'])
  t.strictSame(lines, [])
  const other = createMismatches({ error: (line: string) => { lines.push(line) } } as never)
  for (let i = 0; i < 10; i++) other.note(B, ['subject'])
  t.strictSame(lines, [], 'one user is no pattern')
  t.end()
})

t.test('TEN-05 the tenant is that of the token and of the login, whatever Host, query and headers say', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A, { claims: { iss: A.issuer, sub: A.subject, tid: 'T1' } })
  const lies = { host: 't2.example.com', 'x-forwarded-host': 't2.example.com', 'x-tenant': 'T2' }
  t.equal((await server.browser(A).get(`${url}?tenant=T2&tid=T2`, lies)).statusCode, 200)
  t.notMatch(server.log.join(''), 'differ in: tenant')
  await refused(t, server, () => server.browser(A2).get(`${url}?tenant=T1&tid=T1`, { ...lies, host: 't1.example.com', 'x-tenant': 'T1' }),
    { status: 404, code: 'NOT_FOUND', event: 'elicitation.subject_mismatch', what: 'a conflict is refused; that the link exists is not told to another tenant' })
  t.match(server.log.join(''), /"level":40.*differ in: tenant/, 'but to the operator, whose configuration it may be')
  const session = await server.openSession({ user: A })
  const error: any = await session.client.callTool({ name: 'issues', arguments: { tenant: 'T2' }, _meta: { tenant: 'T2' } }).catch(error => error)
  t.equal(error.data.elicitations[0].url, url, 'an argument makes no other record')
})

t.test('BRW-25 a Strict cookie of the host does not come back from the provider: a page that says so, once, and no loop', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  const callback = await server.untilCallback(browser, url)
  browser.user = null
  const page = await refused(t, server, () => browser.get(callback.href), { status: 401, code: 'SESSION_LOST', event: 'callback.session_missing' })
  t.notMatch(page.body, 'http-equiv="refresh"')
  t.equal(title(page), 'You are no longer signed in')
  t.match(server.log.join(''), /"level":40.*SameSite=Strict.*Make it Lax/)
  const elsewhere = await refused(t, server, () => server.browser(null).get(callback.href), { status: 401, code: 'SIGN_IN_REQUIRED', event: 'callback.session_missing' })
  t.equal(title(elsewhere), 'Sign in first', 'of another browser nothing is known')
  browser.user = A
  t.equal((await browser.get(callback.href)).statusCode, 303)
})

t.test('LOG-01 the answer to a sign-in stays out of the log', async t => {
  const server = await startWithLogin(t)
  const { browser, untilCallback } = server.person('alice')
  const url = await untilCallback()
  await browser.get(url.href)
  await browser.get(url.href)
  const { code = '', state = '' } = Object.fromEntries(url.searchParams)
  t.ok(code !== '' && state !== '' && url.href.startsWith(LOGIN_CALLBACK))
  t.match(server.log.join(''), '/connect/login/callback')
  for (const secret of [code, state, 'employee-1', 'alice']) t.notMatch(server.log.join(''), secret)
})

t.test('LOG-06 what was sent with a form that is refused is neither logged nor shown', async t => {
  const server = await startServer(t)
  const browser = server.browser(A)
  await browser.get('/connect')
  for (const [fields, refusal] of [
    [{ csrf: 'canary-a' }, { status: 403, code: 'CSRF_FAILED' }],
    [{ csrf: 'x', api_key: 'canary-b' }, { status: 400, code: 'FORM_INVALID' }],
    [{ secret: 'canary-c' }, { status: 400, code: 'FORM_INVALID' }]
  ] as Array<[Record<string, string>, Pick<Refusal, 'status' | 'code'>]>) {
    const { body } = await refused(t, server, () => browser.post('/connect/providers/acme/connect', fields), { ...refusal, event: 'csrf.failed' })
    t.notMatch(body, 'canary')
  }
  t.notMatch(server.log.join(''), 'canary')
})
