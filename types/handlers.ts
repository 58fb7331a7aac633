/*
 * What handlers are given, and what they may return, inside of SDK v1's own methods.
 */
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js'
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js'
import type { CallToolResult, GetPromptResult, ReadResourceResult, ServerNotification, ServerRequest } from '@modelcontextprotocol/sdk/types.js'
import type { FastifyInstance } from 'fastify'
import type { Account, Connection, ContextOf, Disconnected } from 'fastify-mcp-connect'
import { z } from 'zod'
import { expect, type Equal } from './equal.js'

declare const app: FastifyInstance
declare const toolResult: CallToolResult
declare const promptResult: GetPromptResult
declare const resourceResult: ReadResourceResult

type Context = RequestHandlerExtra<ServerRequest, ServerNotification>
type Variables = Record<string, string | string[]>

const server = new McpServer({ name: 'types', version: '1.0.0' })
const { requireConnection } = app.mcpConnect.for(server)

expect<Equal<ContextOf<McpServer>, Context>>()

// A tool without inputSchema is called with the context alone.
server.registerTool('tool', {}, requireConnection('github', (connection, context) => {
  expect<Equal<typeof connection, Connection>>()
  expect<Equal<typeof context, Context>>()
  return toolResult
}))
server.registerTool('tool', { description: 'A tool' }, requireConnection('github', { scopes: ['repo'] }, async (connection, context) => {
  expect<Equal<typeof connection, Connection>>()
  expect<Equal<typeof context, Context>>()
  return toolResult
}))
server.registerTool('tool', {}, requireConnection('github', () => toolResult))
server.registerTool('tool', {}, requireConnection('github', async ({ disconnect }) => {
  expect<Equal<ReturnType<typeof disconnect>, Promise<Disconnected | null>>>()
  return toolResult
}))
server.registerTool('tool', { inputSchema: { account: z.string().optional() } },
  requireConnection('github', { account: ({ account }: { account?: string }) => account }, async (connection, { account }) => {
    expect<Equal<typeof account, string | undefined>>()
    return toolResult
  }))
server.registerTool('tool', {}, requireConnection('github', { account: 'work@example.com' }, () => toolResult))
// @ts-expect-error an account has a name
server.registerTool('tool', {}, requireConnection('github', { account: 1 }, () => toolResult))
server.registerTool('tool', {}, requireConnection('github', async ({ fetch }, { signal, authInfo }) => {
  await fetch('https://api.github.com/user', { signal })
  return { content: [{ type: 'text', text: String(authInfo?.clientId) }] }
}))

// A tool with inputSchema is called with the arguments, then the context.
server.registerTool('tool', { inputSchema: { state: z.enum(['open', 'closed']), limit: z.number().optional() } },
  requireConnection('github', { scopes: ['repo'], reason: 'to list your issues' }, async (connection, args, context) => {
    expect<Equal<typeof connection, Connection>>()
    expect<Equal<typeof args.state, 'open' | 'closed'>>()
    expect<Equal<typeof args.limit, number | undefined>>()
    expect<Equal<typeof context, Context>>()
    // @ts-expect-error The schema has no such property.
    args.page?.toString()
    return toolResult
  }))
server.registerTool('tool', { inputSchema: { state: z.string() } }, requireConnection('github', async (connection, { state }) => {
  expect<Equal<typeof connection, Connection>>()
  expect<Equal<typeof state, string>>()
  return { content: [{ type: 'text', text: state }] }
}))
server.registerTool('tool', { inputSchema: z.object({ state: z.string() }) }, requireConnection('github', async (connection, { state }) => {
  expect<Equal<typeof connection, Connection>>()
  expect<Equal<typeof state, string>>()
  return toolResult
}))
server.registerTool('tool', { inputSchema: { state: z.string() }, outputSchema: { count: z.number() } },
  requireConnection('github', async (_connection, { state }) => ({ content: [], structuredContent: { count: state.length } })))

// Prompts
server.registerPrompt('prompt', { argsSchema: { topic: z.string() } }, requireConnection('github', async (connection, { topic }, context) => {
  expect<Equal<typeof connection, Connection>>()
  expect<Equal<typeof topic, string>>()
  expect<Equal<typeof context, Context>>()
  return promptResult
}))
server.registerPrompt('prompt', { argsSchema: { topic: z.string() } }, requireConnection('github', { reason: 'to write' }, () => promptResult))

// Resources
server.registerResource('resource', 'acme://issues', {}, requireConnection('github', async (connection, uri, context) => {
  expect<Equal<typeof connection, Connection>>()
  expect<Equal<typeof uri, URL>>()
  expect<Equal<typeof context, Context>>()
  return resourceResult
}))
server.registerResource('resource', new ResourceTemplate('acme://issues/{number}', { list: undefined }), {},
  requireConnection('github', { scopes: ['repo'] }, async (connection, uri, variables, context) => {
    expect<Equal<typeof connection, Connection>>()
    expect<Equal<typeof uri, URL>>()
    expect<Equal<typeof variables, Variables>>()
    expect<Equal<typeof context, Context>>()
    return resourceResult
  }))

// Several providers: their connections come first, by key.
server.registerTool('tool', { inputSchema: { state: z.string() } }, requireConnection(['github', 'acme'], async (connections, { state }, context) => {
  expect<Equal<typeof connections, { readonly github: Connection, readonly acme: Connection }>>()
  expect<Equal<typeof state, string>>()
  expect<Equal<typeof context, Context>>()
  // @ts-expect-error It is not among them.
  connections.gitlab?.toString()
  return toolResult
}))
server.registerTool('tool', {}, requireConnection(['github', 'acme'], { acme: { scopes: ['issues'], reason: 'to compare' } }, ({ github, acme }, context) => {
  expect<Equal<typeof github, Connection>>()
  expect<Equal<typeof acme, Connection>>()
  expect<Equal<typeof context, Context>>()
  return toolResult
}))
// @ts-expect-error Options for a provider that is not among them.
requireConnection(['github', 'acme'], { gitlab: { scopes: ['api'] } }, () => toolResult)
// @ts-expect-error Options of one provider, where they go by provider.
requireConnection(['github', 'acme'], { scopes: ['repo'] }, () => toolResult)
// @ts-expect-error No provider at all.
requireConnection([], () => toolResult)

// Options
requireConnection('github', {}, () => toolResult)
requireConnection('github', { scopes: ['repo'] as const }, () => toolResult)
// @ts-expect-error A list of scopes, not the wire's string.
requireConnection('github', { scopes: 'repo' }, () => toolResult)
// @ts-expect-error There is no such option.
requireConnection('github', { scope: ['repo'] }, () => toolResult)
// @ts-expect-error The reason is text.
requireConnection('github', { reason: 1 }, () => toolResult)
// @ts-expect-error The options come before the handler.
requireConnection('github', () => toolResult, { scopes: ['repo'] })
// @ts-expect-error Without a handler.
requireConnection('github', { scopes: ['repo'] })

// What is wrapped stands by itself, too: the result of the handler is the result of the wrapper.
export const wrapped = requireConnection('github', (_connection, _context) => 1)
expect<Equal<typeof wrapped, (context: Context) => Promise<number>>>()
export const wrappedWithArgument = requireConnection('github', async (_connection, _text: string, _context: Context) => 'done' as const)
expect<Equal<typeof wrappedWithArgument, (text: string, context: Context) => Promise<'done'>>>()

// Results that the SDK does not take
// @ts-expect-error
server.registerTool('tool', {}, requireConnection('github', () => 'text'))
// @ts-expect-error
server.registerTool('tool', {}, requireConnection('github', async () => ({ content: 'text' })))
// @ts-expect-error
server.registerTool('tool', { inputSchema: { state: z.string() } }, requireConnection('github', async () => undefined))
// @ts-expect-error
server.registerPrompt('prompt', { argsSchema: { topic: z.string() } }, requireConnection('github', async () => ({ messages: 'text' })))
// @ts-expect-error
server.registerResource('resource', 'acme://issues', {}, requireConnection('github', async () => ({ contents: [{ text: 'no uri' }] })))

// Arguments that the schema does not give
// @ts-expect-error
server.registerTool('tool', { inputSchema: { state: z.string() } }, requireConnection('github', async (_connection, _args: { state: number }) => toolResult))

// Without the wrapper, a handler is not given a connection.
// @ts-expect-error
server.registerTool('tool', {}, (context) => context.fetch('https://api.github.com/user'))

// Something that is no server
// @ts-expect-error
app.mcpConnect.for({})

// The connection shows no token by itself.
requireConnection('github', async connection => {
  expect<Equal<ReturnType<typeof connection.accessToken>, Promise<string>>>()
  expect<Equal<Awaited<ReturnType<typeof connection.fetch>>, Response>>()
  // @ts-expect-error
  connection.refreshToken?.toString()
  // @ts-expect-error
  connection.scopes.push('repo')
})

// Whose account it is at the provider is not known of every provider.
requireConnection('acme', ({ account }) => {
  expect<Equal<typeof account, Account | undefined>>()
  expect<Equal<Account, { readonly subject: string, readonly label?: string }>>()
  // @ts-expect-error
  account.subject.toString()
  // @ts-expect-error
  if (account !== undefined) account.subject = 'other'
  // @ts-expect-error
  account?.email?.toString()
  return account?.label ?? account?.subject
})

// It is called as fetch is: with a signal, and with a stream as the body.
requireConnection('acme', async (connection, { signal }) => {
  const address = new URL('https://api.acme.example/issues')
  await connection.fetch(address, { method: 'POST', body: new ReadableStream<Uint8Array>(), signal })
  await connection.fetch(new Request(address), { signal: AbortSignal.any([signal, AbortSignal.timeout(1000)]) })
  const options: Parameters<typeof fetch>[1] = { headers: { accept: 'text/csv' } }
  const { body } = await connection.fetch(address, options)
  await connection.fetch(address, { method: 'PUT', body })
  // @ts-expect-error The controller is not the signal.
  await connection.fetch(address, { signal: new AbortController() })
  // @ts-expect-error An object is no body: JSON.stringify makes one.
  await connection.fetch(address, { method: 'POST', body: { title: 'New' } })
  // @ts-expect-error There is no such option.
  await connection.fetch(address, { timeout: 1000 })
  // @ts-expect-error
  await connection.fetch()
})
