import { once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { inspect } from 'node:util'
import t from 'tap'
import { createConnection } from '../../lib/connections/connection.js'
import { isWithheld, missingScopes } from '../../lib/connections/scopes.js'
import { allowLoopbackHttp, defineProvider, github } from '../../lib/index.js'
import type { Connection, Grant, Provider } from '../../lib/types.js'
import { asItIs, storedGrant } from '../fixtures/grants.js'

const grant: Grant = { accessToken: 'canary-token', refreshToken: 'canary-refresh', scopes: ['a'], requestedScopes: ['a', 'b'], expiresAt: 42 }
const handle = (provider: Provider, grant: Grant): Connection =>
  createConnection({ principal: { issuer: 'https://login.example.com', subject: 'a' }, key: 'acme', provider }, storedGrant(grant), asItIs)

t.test('connection.fetch sends the token to the provider\'s API, and to nobody else', async t => {
  const requests: string[] = []
  const servers = await Promise.all([0, 1].map(async () => {
    const server = createServer(async (request, response) => {
      requests.push(`${request.method} ${request.url} ${request.headers.authorization ?? '-'} ${request.headers['x-own'] ?? '-'} ${await text(request)}`)
      if (request.url === '/away') response.writeHead(302, { location: `${origins[1]}/there` })
      response.end('done')
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.teardown(() => { server.close() })
    return server
  }))
  const origins = servers.map(server => `http://127.0.0.1:${(server.address() as { port: number }).port}`)
  const provider = defineProvider({ name: 'Acme', issuer: 'https://acme.example', clientId: 'id', apiOrigins: [origins[0]!], [allowLoopbackHttp]: true })
  const connection = handle(provider, grant)

  await connection.fetch(`${origins[0]}/a`)
  await connection.fetch(new URL('/b', origins[0]), { method: 'POST', body: 'text', headers: { 'x-own': 'mine', authorization: 'Basic other' } })
  await connection.fetch(new Request(`${origins[0]}/c`, { headers: { 'x-own': 'mine' } }))
  t.strictSame(requests.splice(0), [
    'GET /a Bearer canary-token - ', 'POST /b Bearer canary-token mine text', 'GET /c Bearer canary-token mine '
  ])

  for (const url of [`${origins[1]}/x`, 'https://acme.example/', `${origins[0]!.replace('127.0.0.1', '127.0.0.1.example.com')}/`, 'data:text/plain,x']) {
    await t.rejects(connection.fetch(url), { code: 'FST_MCP_CONNECT_API_ORIGIN', message: /apiOrigins/ })
  }
  t.strictSame(requests, [])
  await connection.fetch(`${origins[0]}/away`)
  t.strictSame(requests, ['GET /away Bearer canary-token - ', 'GET /there - - '], 'a redirect to elsewhere loses the token')
})

t.test('bodies stream both ways, a signal ends them, and nothing is sent twice', async t => {
  let requests = 0
  const server = createServer(async (request, response) => {
    requests++
    if (request.url === '/refused') response.writeHead(401)
    if (request.url === '/moved') response.writeHead(307, { location: '/there' })
    if (request.url === '/endless') return response.write('begun')
    response.end(`got ${await text(request)}`)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => { server.closeAllConnections(); server.close() })
  const origin = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  const provider = defineProvider({ name: 'Acme', issuer: 'https://acme.example', clientId: 'id', apiOrigins: [origin], [allowLoopbackHttp]: true })
  const connection = handle(provider, grant)
  const stream = (): ReadableStream => new Blob(['a stream']).stream()

  t.equal(await (await connection.fetch(`${origin}/`, { method: 'POST', body: stream() })).text(), 'got a stream')
  const response = await connection.fetch(`${origin}/endless`)
  const reader = response.body!.getReader()
  t.equal(Buffer.from((await reader.read()).value!).toString(), 'begun', 'before its end')
  await reader.cancel()
  requests = 0
  const refused = await connection.fetch(`${origin}/refused`, { method: 'POST', body: stream() })
  t.equal(refused.status, 401, 'a refusal is the handler\'s')
  t.equal(requests, 1)
  for (const body of [stream(), 'text']) {
    const moved = await connection.fetch(`${origin}/moved`, { method: 'POST', body })
    t.match([moved.status, moved.headers.get('location')], [307, '/there'], 'where a body goes is for the handler to decide')
  }
  t.equal(requests, 3)
  t.equal(await (await connection.fetch(`${origin}/moved`)).text(), 'got ', 'what has none is taken there')
  t.equal((await connection.fetch(`${origin}/moved`, { redirect: 'manual' })).status, 307)
  await t.rejects(connection.fetch(`${origin}/moved`, { method: 'POST', body: 'text', redirect: 'error' }))

  const asInit = new Request(`${origin}/`, { method: 'POST', body: 'of the init' })
  t.equal(await (await connection.fetch(`${origin}/`, asInit)).text(), 'got of the init')
  const withPassword = await connection.fetch(origin.replace('//', '//user:canary@')).catch(error => error)
  t.match(withPassword, { name: 'TypeError', message: 'connection.fetch takes no URL with a user or a password' })
  const broken = await connection.fetch('http://user:canary@').catch(error => error)
  t.match(broken, { name: 'TypeError', message: 'connection.fetch takes an absolute URL' })
  t.notMatch(inspect(broken, { depth: 9 }), 'canary')
  t.notMatch(inspect(withPassword, { depth: 9 }), 'canary')
  const elsewhere = new Request('https://elsewhere.example/', { method: 'POST', body: 'text' })
  await t.rejects(connection.fetch(elsewhere), { code: 'FST_MCP_CONNECT_API_ORIGIN' })
  t.equal(await elsewhere.text(), 'text', 'what is refused is not used up')
  const turns = { toString: () => ['https://elsewhere.example/', `${origin}/`][turned++ % 2]! }
  let turned = 1
  t.equal((await connection.fetch(turns as never)).url, `${origin}/`, 'what was checked is what is sent to')

  const controller = new AbortController()
  const aborted = connection.fetch(`${origin}/endless`, { signal: controller.signal }).then(async response => {
    controller.abort(new Error('enough'))
    return await response.text()
  })
  const reason = await aborted.then(() => undefined, error => error)
  t.ok(reason?.name === 'AbortError' || reason?.message === 'enough', 'as that version of Node says it')
  await t.rejects(connection.fetch(`${origin}/`, { signal: AbortSignal.abort(new Error('before')) }), { message: 'before' })
  const own = new Request(`${origin}/`, { signal: AbortSignal.abort(new Error('of the request')) })
  await t.rejects(connection.fetch(own), { message: 'of the request' })
})

t.test('a preset is widened explicitly, and by nothing else', async t => {
  const preset = github({ clientId: 'id', clientSecret: 'secret' })
  t.intercept(globalThis, 'fetch', { value: async (request: Request) => new Response(request.headers.get('authorization')) })
  const url = 'https://raw.githubusercontent.com/x'
  await t.rejects(handle(preset, grant).fetch(url), { code: 'FST_MCP_CONNECT_API_ORIGIN' })
  const wider = defineProvider({ ...preset, apiOrigins: [...preset.apiOrigins, new URL(url).origin] })
  t.equal(await (await handle(wider, grant).fetch(url)).text(), 'Bearer canary-token')
  t.throws(() => defineProvider({ ...preset, apiOrigins: ['https://*.example.com'] }), { code: 'FST_MCP_CONNECT_OPTIONS' })
})

t.test('the handle never shows its token', async t => {
  const provider = defineProvider({ name: 'Acme', issuer: 'https://acme.example', clientId: 'id', apiOrigins: ['https://api.acme.example'] })
  const account = { subject: '1', label: 'a@acme.example' }
  const connection = handle(provider, { ...grant, account })
  t.match(connection, { provider: 'acme', scopes: ['a'], expiresAt: 42, account })
  t.equal(handle(provider, grant).account, undefined)
  t.ok([connection, connection.scopes, connection.account].every(Object.isFrozen))
  t.equal(await connection.accessToken(), 'canary-token')
  const shown = [
    inspect(connection, { depth: 9, showHidden: true }), JSON.stringify(connection), String(connection), JSON.stringify({ ...connection }), inspect(connection.fetch, { showHidden: true })
  ]
  try {
    structuredClone(connection)
  } catch (error) {
    shown.push(inspect(error, { depth: 9 }))
  }
  t.equal(shown.length, 6)
  for (const text of shown) t.notMatch(text, 'canary')
})

t.test('scopes are compared as sets; those that shape the login alone are never missing', async t => {
  const provider = { impliedScopes: {}, ignoresScopeCase: false }
  t.strictSame(missingScopes(provider, grant, ['a', 'b', 'c', 'offline_access', 'openid', 'profile', 'email']), ['b', 'c'])
  t.equal(isWithheld(provider, grant, ['a', 'b']), true, 'b was asked for, and not granted')
  t.equal(isWithheld(provider, grant, ['b', 'c']), false, 'c was not asked for yet')
  t.equal(isWithheld(provider, grant, ['a']), false)
})
