/*
 * A host that names its providers. A compilation of its own, since an augmentation holds for a whole program.
 */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import type { FastifyInstance } from 'fastify'
import type { Connection, ConnectionOf, ProviderName } from 'fastify-mcp-connect'
import { z } from 'zod'
import { expect, type Equal } from '../equal.js'

interface AcmeConnection extends Connection {
  readonly workspace: string
}

declare module 'fastify-mcp-connect' {
  interface McpConnectProviders {
    github: Connection
    acme: AcmeConnection
  }
}

declare const app: FastifyInstance
declare const result: CallToolResult

expect<Equal<ProviderName, 'github' | 'acme'>>()
expect<Equal<ConnectionOf<'acme'>, AcmeConnection>>()

const server = new McpServer({ name: 'types', version: '1.0.0' })
const { requireConnection } = app.mcpConnect.for(server)

server.registerTool('tool', { inputSchema: { state: z.string() } }, requireConnection('acme', (connection, { state }) => {
  expect<Equal<typeof connection, AcmeConnection>>()
  expect<Equal<typeof state, string>>()
  return result
}))
server.registerTool('tool', {}, requireConnection('github', { scopes: ['repo'] }, connection => {
  expect<Equal<typeof connection, Connection>>()
  return result
}))
server.registerTool('tool', {}, requireConnection(['github', 'acme'], { acme: { reason: 'to compare' } }, connections => {
  expect<Equal<typeof connections, { readonly github: Connection, readonly acme: AcmeConnection }>>()
  return result
}))
server.registerTool('tool', {}, requireConnection(['acme'], connections => {
  expect<Equal<typeof connections, { readonly acme: AcmeConnection }>>()
  return result
}))

// @ts-expect-error
requireConnection('gitlab', () => result)
// @ts-expect-error
requireConnection('gitlab', { scopes: ['api'] }, () => result)
// @ts-expect-error
requireConnection(['github', 'gitlab'], () => result)
// @ts-expect-error
requireConnection(['github', 'acme'], { gitlab: {} }, () => result)
// @ts-expect-error
requireConnection(String(Math.random()), () => result)
// @ts-expect-error
requireConnection('github', connection => connection.workspace)
