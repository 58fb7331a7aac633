import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import Fastify, { type FastifyInstance } from 'fastify'
import { startAcme } from '../../examples/demo/acme.js'
import type { AuthorizationServerOptions } from '../../examples/demo/authorization-server.js'
import { allowLoopbackHttp, defineProvider, mcpConnect } from '../../lib/index.js'
import type { McpConnectOptions, Principal } from '../../lib/types.js'
import { openMcpSession, type McpSession } from '../fixtures/mcp-session.js'

export const BASE_URL = 'https://mcp.example.com'
export const LOGIN_CALLBACK = `${BASE_URL}/connect/login/callback`
export const CALLBACKS = ['acme', 'other'].map(key => `${BASE_URL}/connect/callback/${key}`)

export interface App {
  readonly fastify: FastifyInstance
  /** Every line that was logged. */
  readonly log: string[]
  /** Of the client at Acme. */
  readonly clientSecret: string
  /** A client with URL mode; its tool `issues` needs a connection to Acme. */
  openSession (user: Principal): Promise<McpSession>
  close (): Promise<void>
}

/** A host application on a socket, with Acme as the third party: as fixtures/server.ts, without a test, and it keeps nothing. */
export async function startApp (options: Pick<McpConnectOptions, 'keys' | 'store' | 'browser' | 'limits'>, observe: AuthorizationServerOptions['observe']): Promise<App> {
  const acme = await startAcme({ redirectUris: CALLBACKS, observe })
  const log: string[] = []
  const fastify = Fastify({ logger: { level: 'trace', stream: { write (line: string) { log.push(line) } } } })
  const { issuer, clientId, clientSecret, apiOrigin } = acme
  const provider = defineProvider({ name: 'Acme', issuer, clientId, clientSecret, scopes: ['issues:read'], apiOrigins: [apiOrigin], [allowLoopbackHttp]: true })
  await fastify.register(mcpConnect, { ...options, baseUrl: BASE_URL, name: 'Example', providers: { acme: provider, other: provider }, declineCoolDownMs: 0 })
  await fastify.listen({ host: '127.0.0.1', port: 0 })

  return {
    fastify,
    log,
    clientSecret,
    async openSession (user) {
      const server = new McpServer({ name: 'fuzzed', version: '1.0.0' })
      const { requireConnection } = fastify.mcpConnect.for(server)
      server.registerTool('issues', {}, requireConnection('acme', { scopes: [], reason: 'to list your issues' }, async connection => {
        const response = await connection.fetch(`${apiOrigin}/api/issues`)
        return { content: [{ type: 'text', text: await response.text() }] }
      }))
      return await openMcpSession(server, { user })
    },
    async close () {
      await fastify.close()
      await acme.close()
    }
  }
}
