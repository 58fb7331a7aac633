/*
 * The endpoint, with servers of both SDKs; no type of either is in its declarations.
 */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { McpServer as McpServerV2 } from '@modelcontextprotocol/server'
import Fastify from 'fastify'
import { allowLoopbackHttp } from 'fastify-mcp-connect'
import { mcpEndpoint, type McpEndpointOptions } from 'fastify-mcp-connect/endpoint'

const app = Fastify()
const info = { name: 'test', version: '1.0.0' }
const auth = { issuer: 'https://login.example.com', resource: 'https://mcp.example.com/mcp' }

await app.register(mcpEndpoint, { createServer: () => new McpServer(info), auth })
await app.register(mcpEndpoint, { createServer: () => new McpServerV2(info), auth: { ...auth, scopes: ['mcp:tools'], [allowLoopbackHttp]: true } })
// @ts-expect-error Whose access tokens are taken has no default.
await app.register(mcpEndpoint, { createServer: () => new McpServer(info) })
// @ts-expect-error A server is made for each session.
await app.register(mcpEndpoint, { createServer: new McpServer(info), auth })
// @ts-expect-error At once.
await app.register(mcpEndpoint, { createServer: async () => new McpServer(info), auth })
// @ts-expect-error No such option.
await app.register(mcpEndpoint, { createServer: () => new McpServer(info), auth, audience: 'x' })

export const options: McpEndpointOptions = {
  path: '/mcp', createServer: () => new McpServer(info), auth, allowedHosts: ['localhost:3000'], allowedOrigins: [], sessionIdleMs: 1000, maxSessions: 1, jsonResponse: true
}
