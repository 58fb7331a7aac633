import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { withFakeGithub } from '../../examples/fake-provider.js'
import { memoryStore } from '../../lib/index.js'
import { openMcpSession } from '../fixtures/mcp-session.js'
import { connectAtFake } from '../fixtures/presets.js'
import { A, startServer } from '../fixtures/server.js'

t.test('an application connects at a GitHub that is not there, which fails once as it was told to', async t => {
  const { fake, options } = await withFakeGithub({ baseUrl: 'https://mcp.example.com', store: memoryStore(), keys: [randomBytes(32).toString('base64')], browser: { identify: () => null }, providers: {} })
  t.teardown(() => fake.close())
  const server = await startServer(t, { acme: options.providers.github })
  t.equal((await connectAtFake(server, A)).statusCode, 502)
  t.equal((await connectAtFake(server, A)).statusCode, 303)

  const mcp = new McpServer({ name: 'test', version: '1.0.0' })
  mcp.registerTool('scopes', {}, server.app.mcpConnect.for(mcp).requireConnection('acme', { scopes: ['public_repo'] }, async ({ fetch, account }) =>
    ({ content: [{ type: 'text', text: `${account?.label}: ${await (await fetch(fake.endpoints.api)).text()}` }] })))
  const session = await openMcpSession(mcp, { user: A })
  t.teardown(() => session.close())
  t.match(await session.client.callTool({ name: 'scopes' }), { content: [{ text: 'alice: {"account":{"subject":1001,"label":"alice"},"scopes":["repo"]}' }] })
  t.match(fake.counts, { authorizations: 2, exchanges: 1, refusals: 0 })
})
