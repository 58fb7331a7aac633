/*
 * An ESM application that uses the installed package. It prints what a tool's caller gets on the wire: first the link, then,
 * once somebody has been there, the data.
 */
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import Fastify from 'fastify'
import mcpConnect, { allowLoopbackHttp, defineProvider, memoryStore, oidcLogin, type McpConnectOptions } from 'fastify-mcp-connect'
import { randomBytes } from 'node:crypto'
import { z } from 'zod'

const env = process.env as Record<string, string>

const options: McpConnectOptions = {
  baseUrl: env.BASE_URL,
  store: memoryStore(),
  keys: [randomBytes(32).toString('base64')],
  browser: oidcLogin({
    issuer: env.LOGIN_ISSUER, clientId: env.LOGIN_CLIENT_ID, clientSecret: env.LOGIN_CLIENT_SECRET, [allowLoopbackHttp]: true
  }),
  providers: {
    acme: defineProvider({
      name: 'Acme',
      issuer: env.ACME_ISSUER,
      clientId: env.ACME_CLIENT_ID,
      clientSecret: env.ACME_CLIENT_SECRET,
      scopes: ['issues:read'],
      apiOrigins: [env.ACME_API],
      [allowLoopbackHttp]: true
    })
  }
}

const app = Fastify()
await app.register(mcpConnect, options)
await app.listen({ port: Number(env.PORT) })
process.once('SIGTERM', () => { void app.close() })

const server = new McpServer({ name: 'esm', version: '1.0.0' })
const { requireConnection } = app.mcpConnect.for(server)
server.registerTool('list-issues', { inputSchema: { state: z.enum(['open', 'closed']) } },
  requireConnection('acme', { reason: 'to list your issues' }, async (connection, { state }, { signal }) => {
    const response = await connection.fetch(`${env.ACME_API}/api/issues?state=${state}`, { signal })
    return { content: [{ type: 'text', text: await response.text() }] }
  }))

const [client, transport] = InMemoryTransport.createLinkedPair()
const authInfo = { token: 'token', clientId: 'client-1', scopes: [], extra: { iss: env.LOGIN_ISSUER, sub: env.LOGIN_SUBJECT } }
const call = (id: string) =>
  client.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'list-issues', arguments: { state: 'open' } } }, { authInfo })
client.onmessage = async message => {
  if ('id' in message && message.id === 'initialize') await call('first')
  else console.log(JSON.stringify(message))
  if ('method' in message && message.method === 'notifications/elicitation/complete') await call('second')
}
await server.connect(transport)
await client.send({
  jsonrpc: '2.0',
  id: 'initialize',
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: { elicitation: { url: {} } }, clientInfo: { name: 'test-client', version: '1.0.0' } }
}, { authInfo })
