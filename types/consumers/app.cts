/*
 * A CommonJS application that uses the installed package. It prints what a tool's caller gets on the wire.
 */
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import Fastify from 'fastify'
import mcpConnect = require('fastify-mcp-connect')
import { randomBytes } from 'node:crypto'
import { z } from 'zod'

const { github, memoryStore } = mcpConnect

const options: mcpConnect.McpConnectOptions = {
  baseUrl: 'https://mcp.example.com',
  store: memoryStore(),
  keys: [randomBytes(32).toString('base64')],
  browser: { identify: () => null },
  providers: { github: github({ clientId: 'client', clientSecret: 'secret', scopes: ['repo'] }) }
}

async function main (): Promise<void> {
  const app = Fastify()
  await app.register(mcpConnect.default, options)

  const server = new McpServer({ name: 'commonjs', version: '1.0.0' })
  const { requireConnection } = app.mcpConnect.for(server)
  server.registerTool('list-issues', { inputSchema: { state: z.enum(['open', 'closed']) } },
    requireConnection('github', { reason: 'to list your issues' }, async (connection, { state }, { signal }) => {
      const response = await connection.fetch(`https://api.github.com/issues?state=${state}`, { signal })
      return { content: [{ type: 'text', text: await response.text() }] }
    }))

  const [client, transport] = InMemoryTransport.createLinkedPair()
  const authInfo = { token: 'token', clientId: 'client-1', scopes: [], extra: { iss: 'https://login.example.com', sub: 'a' } }
  const answered = new Promise(resolve => {
    client.onmessage = message => { if ('id' in message && message.id === 2) resolve(message) }
  })
  await server.connect(transport)
  await client.send({
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: { elicitation: { url: {} } }, clientInfo: { name: 'test-client', version: '1.0.0' } }
  }, { authInfo })
  await client.send({ jsonrpc: '2.0', method: 'notifications/initialized' }, { authInfo })
  await client.send({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'list-issues', arguments: { state: 'open' } } }, { authInfo })
  console.log(JSON.stringify(await answered))
  await server.close()
  await app.close()
}

void main()
