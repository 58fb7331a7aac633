/*
 * A server and a client of SDK v2, with the installed package on either side. It prints the address that it would open in a browser, then,
 * once somebody has been there, the data.
 */
import { Client } from '@modelcontextprotocol/client'
import { InMemoryTransport, McpServer } from '@modelcontextprotocol/server'
import Fastify from 'fastify'
import mcpConnect, { allowLoopbackHttp, defineProvider, memoryStore, oidcLogin } from 'fastify-mcp-connect'
import { handleUrlElicitation, urlMode } from 'fastify-mcp-connect/client'
import { randomBytes } from 'node:crypto'

const env = process.env as Record<string, string>

const app = Fastify()
await app.register(mcpConnect, {
  baseUrl: env.BASE_URL,
  store: memoryStore(),
  keys: [randomBytes(32).toString('base64')],
  browser: oidcLogin({ issuer: env.LOGIN_ISSUER, clientId: env.LOGIN_CLIENT_ID, clientSecret: env.LOGIN_CLIENT_SECRET, [allowLoopbackHttp]: true }),
  providers: {
    acme: defineProvider({
      name: 'Acme', issuer: env.ACME_ISSUER, clientId: env.ACME_CLIENT_ID, clientSecret: env.ACME_CLIENT_SECRET, scopes: ['issues:read'], apiOrigins: [env.ACME_API],
      [allowLoopbackHttp]: true
    })
  }
})
await app.listen({ port: Number(env.PORT) })

const server = new McpServer({ name: 'esm', version: '1.0.0' })
server.registerTool('list-issues', {}, app.mcpConnect.for(server).requireConnection('acme', async (connection, { mcpReq: { signal } }) => {
  const response = await connection.fetch(`${env.ACME_API}/api/issues`, { signal })
  return { content: [{ type: 'text' as const, text: await response.text() }] }
}))

const client = new Client({ name: 'test-client', version: '1.0.0' }, { capabilities: urlMode })
const handle = handleUrlElicitation(client, {
  consent: async () => 'open',
  open: url => { console.log(JSON.stringify({ open: url })) },
  [allowLoopbackHttp]: true
})
const [clientSide, serverSide] = InMemoryTransport.createLinkedPair()
const { send } = clientSide
const authInfo = { token: 'token', clientId: 'client-1', scopes: [], extra: { iss: env.LOGIN_ISSUER, sub: env.LOGIN_SUBJECT } }
clientSide.send = async (message, options) => { await send.call(clientSide, message, { ...options, authInfo }) }
await server.connect(serverSide)
await client.connect(clientSide)
console.log(JSON.stringify(await handle.run(() => client.callTool({ name: 'list-issues' }))))
handle.close()
await client.close()
await app.close()
