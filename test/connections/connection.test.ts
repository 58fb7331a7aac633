import { once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { inspect } from 'node:util'
import t from 'tap'
import { createConnection } from '../../lib/connections/connection.js'
import { isWithheld, missingScopes } from '../../lib/connections/scopes.js'
import { allowLoopbackHttp, defineProvider } from '../../lib/index.js'
import type { Grant } from '../../lib/types.js'

const grant: Grant = { accessToken: 'canary-token', refreshToken: 'canary-refresh', scopes: ['a'], requestedScopes: ['a', 'b'], expiresAt: 42 }

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
  const connection = createConnection('acme', provider, grant)

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

t.test('the handle never shows its token', async t => {
  const provider = defineProvider({ name: 'Acme', issuer: 'https://acme.example', clientId: 'id', apiOrigins: ['https://api.acme.example'] })
  const connection = createConnection('acme', provider, grant)
  t.match(connection, { provider: 'acme', scopes: ['a'], expiresAt: 42 })
  t.equal(await connection.accessToken(), 'canary-token')
  for (const shown of [inspect(connection, { depth: 9, showHidden: true }), JSON.stringify(connection), String(connection), JSON.stringify({ ...connection })]) {
    t.notMatch(shown, 'canary')
  }
})

t.test('scopes are compared as sets; those that shape the login alone are never missing', async t => {
  t.strictSame(missingScopes(grant, ['a', 'b', 'c', 'offline_access', 'openid', 'profile', 'email']), ['b', 'c'])
  t.equal(isWithheld(grant, ['a', 'b']), true, 'b was asked for, and not granted')
  t.equal(isWithheld(grant, ['b', 'c']), false, 'c was not asked for yet')
  t.equal(isWithheld(grant, ['a']), false)
})
