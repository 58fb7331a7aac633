import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { AuthInfo } from '@modelcontextprotocol/sdk/server/auth/types.js'
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { isInitializeRequest } from '@modelcontextprotocol/sdk/types.js'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { createRemoteJWKSet, jwtVerify } from 'jose'

export interface McpEndpointOptions {
  /** Public URL of the endpoint: the `resource` of RFC 9728 and the audience of access tokens. */
  readonly url: string
  /** The authorization server whose access tokens are taken. */
  readonly issuer: string
  readonly jwksUri: string
  /** A scope that every access token must have. */
  readonly scope: string
  /** Makes the MCP server of one MCP session. */
  readonly createServer: () => McpServer
}

interface McpSession {
  readonly transport: StreamableHTTPServerTransport
  /** The user and the client that opened the session; nobody else may use it. */
  readonly owner: string
}

/**
 * `/mcp`: Streamable HTTP with MCP sessions, for verified bearer tokens alone. The SDK hands the verified claims to
 * the tools as `authInfo.extra`, and that is where the plugin's guard reads who is asking.
 */
export async function mcpEndpoint (app: FastifyInstance, options: McpEndpointOptions): Promise<void> {
  const { url, issuer, jwksUri, scope, createServer } = options
  const { origin, pathname } = new URL(url)
  const metadataPath = `/.well-known/oauth-protected-resource${pathname}`
  const keys = createRemoteJWKSet(new URL(jwksUri))
  const sessions = new Map<string, McpSession>()

  app.get(metadataPath, async () => ({
    resource: url,
    authorization_servers: [issuer],
    scopes_supported: [scope],
    bearer_methods_supported: ['header']
  }))

  async function verify (request: FastifyRequest): Promise<AuthInfo | null> {
    const [, token] = /^Bearer ([\w.-]+)$/i.exec(request.headers.authorization ?? '') ?? []
    if (token == null) return null
    try {
      const { payload } = await jwtVerify(token, keys, {
        issuer, audience: url, typ: 'at+jwt', requiredClaims: ['sub', 'client_id', 'exp']
      })
      const scopes = String(payload.scope ?? '').split(' ')
      if (!scopes.includes(scope)) return null
      return { token, clientId: String(payload.client_id), scopes, expiresAt: payload.exp, extra: payload }
    } catch {
      return null
    }
  }

  async function handle (request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    if (request.headers.origin != null && request.headers.origin !== origin) {
      return await reply.code(403).send(jsonRpcError('Requests from other web sites are refused'))
    }
    const auth = await verify(request)
    if (auth == null) {
      const why = request.headers.authorization == null ? '' : 'error="invalid_token", '
      return await reply.code(401)
        .header('www-authenticate', `Bearer ${why}resource_metadata="${origin}${metadataPath}", scope="${scope}"`)
        .send(jsonRpcError('A valid access token is required'))
    }
    const owner = JSON.stringify([auth.extra?.iss, auth.extra?.sub, auth.clientId])
    const id = request.headers['mcp-session-id']
    const session = id == null ? undefined : sessions.get(String(id))
    if (id != null && session?.owner !== owner) {
      return await reply.code(404).send(jsonRpcError('There is no such session'))
    }
    if (session == null && !isInitializeRequest(request.body)) {
      return await reply.code(400).send(jsonRpcError('A session starts with an initialize request'))
    }
    const transport = session?.transport ?? await open(owner)
    const raw: IncomingMessage & { auth?: AuthInfo } = request.raw
    raw.auth = auth
    reply.hijack()
    await transport.handleRequest(raw, reply.raw, request.body)
  }

  async function open (owner: string): Promise<StreamableHTTPServerTransport> {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: id => { sessions.set(id, { transport, owner }) }
    })
    transport.onclose = () => { sessions.delete(transport.sessionId ?? '') }
    await createServer().connect(transport)
    return transport
  }

  app.route({ method: ['GET', 'POST', 'DELETE'], url: pathname, exposeHeadRoute: false, handler: handle })

  // Open streams would keep the server from closing.
  app.addHook('preClose', async () => {
    await Promise.all([...sessions.values()].map(async ({ transport }) => await transport.close()))
  })
}

function jsonRpcError (message: string): object {
  return { jsonrpc: '2.0', id: null, error: { code: -32000, message } }
}
