/*
 * A CommonJS application without @modelcontextprotocol/sdk, which is an optional peer: no type may need it. It prints
 * the address of the connections page.
 */
import Fastify from 'fastify'
import mcpConnect, { github, memoryStore } from 'fastify-mcp-connect'
import { randomBytes } from 'node:crypto'

interface Context { readonly signal: AbortSignal }

/** A server of the same shape. */
interface Server {
  readonly server: { getClientCapabilities (): object | undefined }
  registerResource (name: string, template: object, config: object, callback: (uri: URL, variables: object, context: Context) => Promise<string>): void
}

const app = Fastify()
const ready = app.register(mcpConnect, {
  baseUrl: 'https://mcp.example.com',
  store: memoryStore(),
  keys: [randomBytes(32).toString('base64')],
  browser: { identify: () => null },
  providers: { github: github({ clientId: 'client', clientSecret: 'secret' }) }
})

export function wrap (server: Server): (context: Context) => Promise<boolean> {
  const { requireConnection } = app.mcpConnect.for(server)
  // @ts-expect-error The context is the server's own, not any.
  requireConnection('github', (connection, context) => context.nowhere)
  return requireConnection('github', (connection, context) => context.signal.aborted && connection.scopes.length > 0)
}

ready.then(() => {
  console.log(app.mcpConnect.connectionsUrl)
  return app.close()
}, error => {
  console.error(error)
  process.exitCode = 1
})
