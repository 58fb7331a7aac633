import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import Fastify, { type FastifyInstance } from 'fastify'
import mcpConnect, { allowLoopbackHttp, defineProvider, migrateSqlite, sqliteStore, type Connection, type McpConnectOptions } from 'fastify-mcp-connect'
import { mcpEndpoint } from 'fastify-mcp-connect/endpoint'
import { html } from 'ghtml'
import { z } from 'zod'
import type { DemoDatabase } from './database.js'
import { addLogin } from './login.js'
import { page, pageHeaders, type Site } from './page.js'
import { employees } from './people.js'

export interface AppOptions {
  /** Public base URL of the app. */
  readonly baseUrl: string
  /** The authorization server of the MCP endpoint. */
  readonly authorizationServer: { readonly issuer: string }
  /** The third party, and this app's registration there. */
  readonly acme: { readonly issuer: string, readonly apiOrigin: string, readonly clientId: string, readonly clientSecret: string }
  /** Keeps what the plugin keeps; to be closed after the app. */
  readonly database: DemoDatabase
  /** Seals what is in there: 32 bytes in base64. */
  readonly encryptionKey: string
  /** Options of the plugin that replace the demo's own. */
  readonly connect?: Partial<McpConnectOptions>
}

/** The scope that access tokens for the MCP endpoint must have. */
export const mcpScope = 'mcp:tools'

export const exampleCorp: Site = { name: 'Example Corp', color: '#0b57d0' }

/** The whole application: its own login, the plugin, and an MCP endpoint with two tools that need Acme. */
export async function buildApp (options: AppOptions): Promise<FastifyInstance> {
  const { baseUrl, authorizationServer, acme, database, encryptionKey, connect } = options
  const app = Fastify({ forceCloseConnections: true })
  const { issuer } = authorizationServer
  const login = await addLogin(app, { site: exampleCorp, people: employees, issuer })

  migrateSqlite(database)
  await app.register(mcpConnect, {
    baseUrl,
    name: exampleCorp.name,
    store: sqliteStore(database),
    keys: [encryptionKey],
    browser: login,
    providers: {
      acme: defineProvider({
        name: 'Acme',
        issuer: acme.issuer,
        clientId: acme.clientId,
        clientSecret: acme.clientSecret,
        apiOrigins: [acme.apiOrigin],
        [allowLoopbackHttp]: true
      })
    },
    ...connect
  })

  function createServer (): McpServer {
    const server = new McpServer({ name: 'example-corp', version: '1.0.0' })
    const { requireConnection } = app.mcpConnect.for(server)
    const needsIssues = { scopes: ['issues:read'], reason: 'to list your issues' }

    server.registerTool(
      'list-issues',
      { description: 'Lists your issues at Acme', inputSchema: { state: z.enum(['open', 'closed']) } },
      requireConnection('acme', needsIssues, async (connection, { state }) => {
        const { account, issues } = await fetchIssues(connection, `?state=${state}`)
        return answer(`Issues of ${account}: ${issues.map(({ number, title }) => `#${number} ${title}`).join('; ')}`)
      }))

    server.registerTool(
      'count-issues',
      { description: 'Counts your issues at Acme' },
      requireConnection('acme', needsIssues, async connection => {
        const { account, issues } = await fetchIssues(connection)
        return answer(`${account} has ${issues.length} issues`)
      }))

    return server
  }

  async function fetchIssues (connection: Connection, query = '') {
    const response = await connection.fetch(`${acme.apiOrigin}/api/issues${query}`)
    if (!response.ok) throw new Error(`Acme answered with status ${response.status}`)
    return await response.json() as { account: string, issues: Array<{ number: number, title: string }> }
  }

  await app.register(mcpEndpoint, {
    createServer,
    auth: { issuer, resource: `${baseUrl}/mcp`, scopes: [mcpScope], [allowLoopbackHttp]: true }
  })

  app.get('/', async (request, reply) => {
    const user = await login.identify(request, reply)
    return await reply.headers(pageHeaders).send(page(exampleCorp, 'Home', user == null
      ? html`<p><a href="/login">Sign in</a></p>`
      : html`<p>You are signed in as <strong>${user.label}</strong>.</p>
<p><a href="${app.mcpConnect.connectionsUrl}">Your connections</a> <a href="/logout">Sign out</a></p>`))
  })

  return app
}

function answer (text: string) {
  return { content: [{ type: 'text' as const, text }] }
}
