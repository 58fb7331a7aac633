import t, { type Test } from 'tap'
import { CLIENTS, clientsFolder, createRunner, type Ran } from '../fixtures/clients.js'
import { leaveOut } from '../fixtures/leave-out.js'
import { issuesServers, startMcpServer, type McpTestServer } from '../fixtures/mcp-server.js'

t.setTimeout(600_000)

const MCPDO = '@modelcontextprotocol/inspector/clients/mcpdo/build/mcp-bin.js'
const CONNECT = 'Connect Acme to list your issues. The user can do so in a browser at https://mcp.example.com/connect and should then call this again.'

/** Inspector's command-line client, which has a daemon. */
function startMcpdo (t: Test, { url, token }: McpTestServer): (...args: string[]) => Promise<Ran> {
  const { run } = createRunner(t)
  t.teardown(async () => { await run(MCPDO, 'daemon', 'stop') })
  return async (...args) => {
    const connecting = args[0] === 'connect' ? ['--server-url', url, '--transport', 'http', '--header', `Authorization: Bearer ${token}`] : []
    return await run(MCPDO, '--format', 'json', ...args, ...connecting)
  }
}

if (clientsFolder === undefined) {
  leaveOut(t, "of other people's MCP clients", `install them into a folder (npm install --prefix FOLDER ${CLIENTS}) and run the tests with MCP_CLIENTS=FOLDER`)
} else {
  for (const [sdk, era, negotiated] of [['v1', 'auto', 'legacy'], ['v2', 'auto', 'modern'], ['v2', 'legacy', 'legacy'], ['v2', 'modern', 'modern']] as const) {
    t.test(`mcpdo, ${era}, a server of SDK ${sdk}: without URL mode, cancelled, and the whole way`, async t => {
      const server = await startMcpServer(t, issuesServers[sdk])
      const mcpdo = startMcpdo(t, server)
      const call = async (connection: string): Promise<any> => JSON.parse((await mcpdo('tools/call', 'issues', '--connection', connection)).stdout)

      t.equal((await mcpdo('connect', '--connection', 'plain', '--era', era, '--elicit', 'off')).code, 0)
      t.match(await call('plain'), { isError: true, content: [{ text: CONNECT }] })

      t.match(JSON.parse((await mcpdo('connect', '--connection', 'able', '--era', era, '--elicit', 'both')).stdout), { protocolEra: negotiated })
      const { elicitationPending: cancelled } = await call('able')
      t.match(cancelled, { mode: 'url', message: 'Connect Acme to list your issues.', url: /^https:\/\/mcp\.example\.com\/connect\/[\w-]{43}$/ })
      const { stdout, stderr } = await mcpdo('elicitation/respond', cancelled.elicitationId, '--cancel')
      t.match(stdout + stderr, /cancelled|should then call this again/, 'the call ends, and says why')

      const { elicitationPending } = await call('able')
      t.equal(elicitationPending.url, cancelled.url)
      await server.connect(elicitationPending.url)
      const done = await mcpdo('elicitation/respond', elicitationPending.elicitationId, '--done')
      t.match(JSON.parse(done.stdout), { content: [{ text: /The rabbit hole is too deep/ }] }, 'the call goes on by itself')
      t.match(await call('able'), { content: [{ text: /The rabbit hole is too deep/ }] }, 'and nobody is asked again')
    })
  }

  t.test('mcporter and mcpc, which know no URL mode: a text that a person can act on', async t => {
    const server = await startMcpServer(t, issuesServers.v1)
    const { url, token, browser } = server
    const { run } = createRunner(t)
    const mcporter = async (): Promise<Ran> => await run('mcporter/dist/cli.js', 'call', '--http-url', url, '--allow-http', '--header', `Authorization=Bearer ${token}`, '--tool', 'issues', '--no-oauth', '--output', 'json')
    t.match(JSON.parse((await mcporter()).stdout), { isError: true, content: [{ text: CONNECT }] })
    t.equal((await run('@apify/mcpc/bin/mcpc', 'connect', url, '@c1', '-H', `Authorization: Bearer ${token}`)).code, 0)
    t.teardown(async () => { await run('@apify/mcpc/bin/mcpc', 'close', '@c1') })
    const mcpc = async (): Promise<Ran> => await run('@apify/mcpc/bin/mcpc', '--json', '@c1', 'tools-call', 'issues')
    t.match(JSON.parse((await mcpc()).stdout), { isError: true, content: [{ text: CONNECT }] })

    const { location } = (await browser.press('/connect', '/acme/connect')).headers
    await server.connect(String(location))
    for (const call of [mcporter, mcpc]) t.match((await call()).stdout, /The rabbit hole is too deep/)
  })
}
