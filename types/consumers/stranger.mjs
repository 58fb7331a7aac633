import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import Fastify from 'fastify'
import { allowLoopbackHttp, defineProvider, mcpConnect, memoryStore, oidcLogin } from 'fastify-mcp-connect'
import { mcpEndpoint } from 'fastify-mcp-connect/endpoint'

const { env } = process
const login = { issuer: env.LOGIN_ISSUER, clientId: env.LOGIN_CLIENT_ID, clientSecret: env.LOGIN_CLIENT_SECRET }
const client = { issuer: env.ACME_ISSUER, clientId: env.ACME_CLIENT_ID, clientSecret: env.ACME_CLIENT_SECRET }
const acme = defineProvider({ name: 'Acme', ...client, scopes: ['issues:read'], apiOrigins: [env.ACME_API], [allowLoopbackHttp]: true })
const browser = oidcLogin({ ...login, [allowLoopbackHttp]: true })
const app = Fastify({ logger: true })
await app.register(mcpConnect, { baseUrl: env.BASE_URL, store: memoryStore(), keys: [env.CONNECT_KEY], browser, providers: { acme } })

function createServer () {
  const server = new McpServer({ name: 'stranger', version: '1.0.0' })
  server.registerTool('list-issues', {}, app.mcpConnect.for(server).requireConnection('acme', async connection => {
    const response = await connection.fetch(`${env.ACME_API}/api/issues`)
    return { content: [{ type: 'text', text: await response.text() }] }
  }))
  return server
}
await app.register(mcpEndpoint, { createServer, auth: { issuer: login.issuer, resource: `${env.BASE_URL}/mcp`, [allowLoopbackHttp]: true } })
await app.listen({ port: Number(env.PORT) })
