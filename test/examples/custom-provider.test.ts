import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import t from 'tap'
import { openMcpSession } from '../fixtures/mcp-session.js'
import { A, startServer } from '../fixtures/server.js'

Object.assign(process.env, { ACME_CLIENT_ID: 'id', ACME_CLIENT_SECRET: 'secret', GITHUB_CLIENT_ID: 'id', GITHUB_CLIENT_SECRET: 'secret' })
const { acme, githubWithRaw } = await import('../../examples/custom-provider.js')

t.test('both can be asked for', async t => {
  const { app } = await startServer(t, { providers: { acme, github: githubWithRaw } })
  const server = new McpServer({ name: 'test', version: '1.0.0' })
  server.registerTool('both', {}, app.mcpConnect.for(server).requireConnection(['acme', 'github'], async () => ({ content: [] })))
  const session = await openMcpSession(server, { user: A })
  t.teardown(() => session.close())
  await t.rejects(session.client.callTool({ name: 'both' }), { code: -32042, elicitations: [{ message: 'Connect Acme.' }, { message: 'Connect GitHub.' }] })
  t.match(session.wire.at(-1), { error: { code: -32042 } })
})

t.test('the token goes to the origins of the preset, to the one that was added, and to no other', async t => {
  const { apiOrigins } = githubWithRaw
  const server = await startServer(t, { acme: { apiOrigins } })
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  t.equal((await browser.get((await server.untilCallback(browser, url)).href)).statusCode, 303)

  t.intercept(globalThis, 'fetch', { value: async ({ url, headers }: Request) => new Response(`${new URL(url).origin} ${/^Bearer \S+$/.test(headers.get('authorization') ?? '')}`) })
  const mcp = new McpServer({ name: 'test', version: '1.0.0' })
  const origins = ['https://api.github.com', 'https://uploads.github.com', 'https://raw.githubusercontent.com']
  mcp.registerTool('fetch', {}, server.app.mcpConnect.for(mcp).requireConnection('acme', async ({ fetch }) => {
    await t.rejects(fetch('https://github.com/'), { code: 'FST_MCP_CONNECT_API_ORIGIN' })
    return { content: await Promise.all(origins.map(async origin => ({ type: 'text' as const, text: await (await fetch(origin)).text() }))) }
  }))
  const session = await openMcpSession(mcp, { user: A })
  t.teardown(() => session.close())
  t.match(await session.client.callTool({ name: 'fetch' }), { content: origins.map(origin => ({ text: `${origin} true` })) })
})
