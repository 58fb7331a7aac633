import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import Fastify from 'fastify'
import { github, mcpConnect, memoryStore, oidcLogin } from 'fastify-mcp-connect'
import { mcpEndpoint } from 'fastify-mcp-connect/endpoint'

export const app = Fastify({ logger: true }) // what is wrong is told in the log
await app.register(mcpConnect, {
  baseUrl: 'https://mcp.example.com',
  store: memoryStore(), // for a start: see Stores
  keys: [process.env.CONNECT_KEY!], // openssl rand -base64 32
  browser: oidcLogin({ issuer: 'https://login.example.com', clientId: process.env.LOGIN_CLIENT_ID!, clientSecret: process.env.LOGIN_CLIENT_SECRET! }),
  providers: { github: github({ clientId: process.env.GITHUB_CLIENT_ID!, clientSecret: process.env.GITHUB_CLIENT_SECRET! }) }
})
await app.register(mcpEndpoint, { createServer, auth: { issuer: 'https://login.example.com', resource: 'https://mcp.example.com/mcp' } })

export function createServer () {
  const server = new McpServer({ name: 'example', version: '1.0.0' })
  const { requireConnection } = app.mcpConnect.for(server)
  server.registerTool('list-issues', { description: 'Lists your open issues' },
    requireConnection('github', { scopes: ['repo'], reason: 'to list your issues' }, async connection => {
      const response = await connection.fetch('https://api.github.com/issues')
      return { content: [{ type: 'text', text: await response.text() }] }
    }))
  return server
}
