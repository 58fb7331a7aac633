import t, { type Test } from 'tap'
import { CLIENTS, clientsFolder, createRunner, type Ran } from '../fixtures/clients.js'
import { leaveOut } from '../fixtures/leave-out.js'
import { startMcpServer, type McpTestServer } from '../fixtures/mcp-server.js'

t.setTimeout(180_000)

const MCPDO = '@modelcontextprotocol/inspector/clients/mcpdo/build/mcp-bin.js'
const CONNECT = 'Connect Acme to list your issues. The user can do so in a browser at https://mcp.example.com/connect and should then call this again.'

interface Mcpdo {
  /** Calls the tool. */
  call (): Promise<Ran>
  respond (id: string, answer: '--done' | '--cancel'): Promise<Ran>
}

/** A session of Inspector's command-line client, which has a daemon. */
async function openMcpdo (t: Test, { url, token }: McpTestServer, era: 'legacy' | 'modern' | 'auto', elicit: 'off' | 'both'): Promise<Mcpdo> {
  const { run } = createRunner(t)
  t.teardown(async () => { await run(MCPDO, 'daemon', 'stop') })
  const { code, stderr } = await run(MCPDO, 'connect', '--server-url', url, '--transport', 'http', '--era', era, '--elicit', elicit, '--connection', 'c1', '--header', `Authorization: Bearer ${token}`)
  t.equal(code, 0, stderr)
  return {
    call: async () => await run(MCPDO, '--format', 'json', 'tools/call', 'issues', '--connection', 'c1'),
    respond: async (id, answer) => await run(MCPDO, '--format', 'json', 'elicitation/respond', id, answer)
  }
}

if (clientsFolder === undefined) {
  leaveOut(t, "of other people's MCP clients", `install them into a folder (npm install --prefix FOLDER ${CLIENTS}) and run the tests with MCP_CLIENTS=FOLDER`)
} else {
  for (const [sdk, era] of [['v1', 'auto'], ['v2', 'legacy'], ['v2', 'modern']] as const) {
    t.test(`mcpdo, ${era}, a server of SDK ${sdk}`, async t => {
      const server = await startMcpServer(t, sdk)

      await t.test('URL mode is off: the text', async t => {
        const { call } = await openMcpdo(t, server, era, 'off')
        t.match(JSON.parse((await call()).stdout), { isError: true, content: [{ text: CONNECT }] })
      })

      await t.test('the user cancels: the call ends, and says why', async t => {
        const { call, respond } = await openMcpdo(t, server, era, 'both')
        const { elicitationPending } = JSON.parse((await call()).stdout)
        t.match(elicitationPending, { mode: 'url', message: 'Connect Acme to list your issues.', url: /^https:\/\/mcp\.example\.com\/connect\/[\w-]{43}$/ })
        const { stdout, stderr } = await respond(elicitationPending.elicitationId, '--cancel')
        t.match(stdout + stderr, /cancelled|should then call this again/)
      })

      await t.test('the user connects in the browser: the call goes on by itself', async t => {
        const { call, respond } = await openMcpdo(t, server, era, 'both')
        const { elicitationPending: { elicitationId, url } } = JSON.parse((await call()).stdout)
        await server.connect(url)
        const { code, stdout } = await respond(elicitationId, '--done')
        t.equal(code, 0)
        t.match(JSON.parse(stdout), { content: [{ text: /The rabbit hole is too deep/ }] })
        t.match(JSON.parse((await call()).stdout), { content: [{ text: /The rabbit hole is too deep/ }] }, 'and is not asked again')
      })
    })
  }

  t.test('mcporter and mcpc, which know no URL mode: a text that a person can act on', async t => {
    const server = await startMcpServer(t, 'v1')
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
    for (const call of [mcporter, mcpc]) t.match(JSON.parse((await call()).stdout), { content: [{ text: /The rabbit hole is too deep/ }] })
  })
}
