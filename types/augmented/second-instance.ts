/*
 * A host that registers the plugin twice, and declares the second decorator under the name that it has chosen.
 */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import Fastify from 'fastify'
import { mcpConnect, oidcLogin, type Connection, type McpConnect, type McpConnectOptions } from 'fastify-mcp-connect'
import { expect, type Equal } from '../equal.js'

declare module 'fastify' {
  interface FastifyInstance {
    other: McpConnect
  }
}

declare const options: McpConnectOptions

const app = Fastify()
await app.register(mcpConnect, options)
await app.register(mcpConnect, {
  ...options,
  prefix: '/other',
  cookieName: 'other',
  decoratorName: 'other',
  browser: oidcLogin({ issuer: 'https://other.example.com', clientId: 'client' })
})

expect<Equal<typeof app.other, McpConnect>>()
expect<Equal<typeof app.mcpConnect, McpConnect>>()
app.other.for(new McpServer({ name: 'types', version: '1.0.0' })).requireConnection('github', connection => {
  expect<Equal<typeof connection, Connection>>()
})
await app.other.revokeBrowserSessions({ issuer: 'https://other.example.com', subject: 'a' })

app.register(async child => {
  expect<Equal<typeof child.other, McpConnect>>()
})

// @ts-expect-error
app.third?.toString()
