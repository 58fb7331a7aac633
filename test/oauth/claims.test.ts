import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import * as client from 'openid-client'
import t, { type Test } from 'tap'
import { allowLoopbackHttp, defineProvider } from '../../lib/index.js'
import { readUser } from '../../lib/oauth/claims.js'
import type { Tokens } from '../../lib/oauth/token-request.js'
import type { Registration } from '../../lib/types.js'

const RESOURCE = 'https://mcp.example.com/mcp'

async function start (t: Test, answer: (path: string, response: ServerResponse) => void): Promise<{ issuer: string, registration: Registration }> {
  const server = createServer((request, response) => answer(request.url!, response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => { server.close(); server.closeAllConnections() })
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { issuer, registration: defineProvider({ name: 'Login', issuer, clientId: 'id', apiOrigins: ['https://api.acme.example'], [allowLoopbackHttp]: true }) }
}

t.test('OAR-28 the keys of an authorization server are fetched like all that comes from it: not too much, and no redirects', async t => {
  const { publicKey, privateKey } = await generateKeyPair('RS256')
  const jwks = { keys: [{ ...await exportJWK(publicKey), alg: 'RS256', use: 'sig' }] }
  const { issuer, registration } = await start(t, (path, response) => {
    if (path === '/moved') return response.writeHead(302, { location: '/jwks' }).end()
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ ...jwks, ...path === '/large' && { more: 'x'.repeat(70_000) } }))
  })
  const now = Math.floor(Date.now() / 1000)
  const read = async (path: string | undefined, exp = now + 60): ReturnType<typeof readUser> => await readUser(
    new client.Configuration({ issuer, ...path !== undefined && { jwks_uri: issuer + path } }, 'id'), { ...registration, resource: RESOURCE },
    { access_token: await new SignJWT({ iss: issuer, aud: RESOURCE, sub: 'a', exp }).setProtectedHeader({ alg: 'RS256' }).sign(privateKey), claims: () => ({ sub: 'a' }) } as unknown as Tokens)

  t.match(await read('/jwks'), { claims: { sub: 'a' } })
  for (const path of ['/large', '/moved']) await t.rejects(read(path), { code: 'FST_MCP_CONNECT_EXCHANGE_FAILED' }, path)
  await t.rejects(read(undefined), { code: 'FST_MCP_CONNECT_EXCHANGE_FAILED', message: /has no jwks_uri/ })
  await t.rejects(read('/jwks', now - 60), { code: 'FST_MCP_CONNECT_EXCHANGE_FAILED', message: /ERR_JWT_EXPIRED/ }, 'expired a minute ago')
})

t.test('nobody is called by what the UserInfo endpoint says of somebody else', async t => {
  const { issuer, registration } = await start(t, (path, response) => {
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ sub: path.slice(1), name: 'Alice' }))
  })
  for (const [path, label] of [['/a', 'Alice'], ['/b', undefined]] as const) {
    const configuration = new client.Configuration({ issuer, userinfo_endpoint: issuer + path }, 'id')
    client.allowInsecureRequests(configuration)
    const tokens = { access_token: 'x', claims: () => ({ sub: 'a' }) } as unknown as Tokens
    t.equal((await readUser(configuration, registration, tokens)).label, label, path)
  }
})
