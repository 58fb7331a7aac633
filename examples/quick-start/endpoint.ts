import type { AuthInfo } from '@modelcontextprotocol/sdk/server/auth/types.js'
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { isInitializeRequest } from '@modelcontextprotocol/sdk/types.js'
import type { FastifyInstance } from 'fastify'
import { randomUUID } from 'node:crypto'

/** Serves MCP sessions at /mcp. Each belongs to the user and the client that opened it. */
export function addEndpoint (app: FastifyInstance, createServer: () => McpServer, verify: (token: string) => Promise<AuthInfo>) {
  const sessions = new Map<string, { transport: StreamableHTTPServerTransport, owner: string }>()

  app.route({
    method: ['GET', 'POST', 'DELETE'],
    url: '/mcp',
    exposeHeadRoute: false,
    async handler (request, reply) {
      const auth = await verify(request.headers.authorization?.replace(/^Bearer /i, '') ?? '').catch(error => {
        request.log.info({ err: error }, 'access token refused')
        return null
      })
      if (auth === null) return reply.code(401).header('www-authenticate', 'Bearer').send()
      const owner = JSON.stringify([auth.extra?.iss, auth.extra?.sub, auth.clientId])

      const sessionId = request.headers['mcp-session-id']
      let session = sessions.get(String(sessionId))
      if (sessionId !== undefined && session?.owner !== owner) return reply.code(404).send() // the client then starts anew
      if (session === undefined) {
        if (!isInitializeRequest(request.body)) return reply.code(400).send()
        const transport = new StreamableHTTPServerTransport({
          sessionIdGenerator: randomUUID,
          onsessioninitialized: id => { sessions.set(id, { transport, owner }) }
        })
        transport.onclose = () => sessions.delete(transport.sessionId!)
        await createServer().connect(transport) // one McpServer for each MCP session
        session = { transport, owner }
      }
      reply.hijack()
      await session.transport.handleRequest(Object.assign(request.raw, { auth }), reply.raw, request.body)
    }
  })
  app.addHook('preClose', async () => { for (const { transport } of sessions.values()) await transport.close() })
}
