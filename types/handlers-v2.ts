/*
 * What handlers are given, and what they may return, inside of SDK v2's own methods, and of the protocol's own servers.
 */
import { Server as LowLevelV1 } from '@modelcontextprotocol/sdk/server/index.js'
import { CallToolRequestSchema, type CallToolRequest } from '@modelcontextprotocol/sdk/types.js'
import { McpServer, ResourceTemplate, Server, type CallToolResult, type ServerContext } from '@modelcontextprotocol/server'
import type { FastifyInstance } from 'fastify'
import type { Connection, ContextOf } from 'fastify-mcp-connect'
import { z } from 'zod'
import { expect, type Equal } from './equal.js'

declare const app: FastifyInstance
declare const toolResult: CallToolResult

const server = new McpServer({ name: 'types', version: '1.0.0' })
const { requireConnection } = app.mcpConnect.for(server)

expect<Equal<ContextOf<McpServer>, ServerContext>>()

server.registerTool('tool', {}, requireConnection('github', (connection, context) => {
  expect<Equal<typeof connection, Connection>>()
  expect<Equal<typeof context, ServerContext>>()
  return toolResult
}))
server.registerTool('tool', { inputSchema: z.object({ state: z.enum(['open', 'closed']) }) },
  requireConnection('github', { scopes: ['repo'], reason: 'to list your issues' }, async (connection, args, context) => {
    expect<Equal<typeof connection, Connection>>()
    expect<Equal<typeof args.state, 'open' | 'closed'>>()
    expect<Equal<typeof context, ServerContext>>()
    // @ts-expect-error The schema has no such property.
    args.page?.toString()
    return toolResult
  }))
server.registerPrompt('prompt', { argsSchema: z.object({ topic: z.string() }) }, requireConnection('github', async (_connection, { topic }, context) => {
  expect<Equal<typeof context, ServerContext>>()
  return { messages: [{ role: 'user', content: { type: 'text', text: topic } }] }
}))
server.registerResource('resource', 'acme://issues', {}, requireConnection('github', async (_connection, uri, context) => {
  expect<Equal<typeof uri, URL>>()
  expect<Equal<typeof context, ServerContext>>()
  return { contents: [] }
}))
server.registerResource('resource', new ResourceTemplate('acme://issues/{number}', { list: undefined }), {},
  requireConnection('github', async (_connection, uri, variables, context) => {
    expect<Equal<typeof uri, URL>>()
    expect<Equal<typeof variables, Record<string, string | string[]>>>()
    expect<Equal<typeof context, ServerContext>>()
    return { contents: [] }
  }))
// @ts-expect-error
server.registerTool('tool', {}, requireConnection('github', () => 'text'))

// The protocol's own servers: a handler gets the connection, then the request and the context.
const low = new Server({ name: 'types', version: '1.0.0' })
const lowGuard = app.mcpConnect.for(low)
expect<Equal<ContextOf<Server>, ServerContext>>()
low.setRequestHandler('tools/call', lowGuard.requireConnection('github', async (connection, request, context) => {
  expect<Equal<typeof connection, Connection>>()
  expect<Equal<typeof request.params.name, string>>()
  expect<Equal<typeof context, ServerContext>>()
  return toolResult
}))
// @ts-expect-error
low.setRequestHandler('tools/call', lowGuard.requireConnection('github', async () => 'text'))

const lowV1 = new LowLevelV1({ name: 'types', version: '1.0.0' })
const lowV1Guard = app.mcpConnect.for(lowV1)
type LowLevelContext = Parameters<NonNullable<LowLevelV1['fallbackRequestHandler']>>[1]
expect<Equal<ContextOf<LowLevelV1>, LowLevelContext>>()
lowV1.setRequestHandler(CallToolRequestSchema, lowV1Guard.requireConnection('github', async (connection, request: CallToolRequest, context) => {
  expect<Equal<typeof connection, Connection>>()
  expect<Equal<typeof context, LowLevelContext>>()
  return { content: [{ type: 'text', text: request.params.name }] }
}))
