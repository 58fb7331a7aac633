import t from 'tap'
import { openHttpSession, readMessage } from '../fixtures/http-session.js'
import { issuesServers, startMcpServer } from '../fixtures/mcp-server.js'

const REQUESTS = {
  'tools/call': { name: 'issues' },
  'prompts/get': { name: 'issues' },
  'resources/read': { uri: 'acme://issues' }
} as const

for (const sdk of ['v1', 'v2'] as const) {
  for (const jsonResponse of [false, true]) {
    t.test(`CAP-02 over MCP sessions of SDK ${sdk}, answers in ${jsonResponse ? 'JSON' : 'streams'}: -32042 on the wire, then what was asked for`, async t => {
      const { url, token, connect } = await startMcpServer(t, issuesServers[sdk], { jsonResponse })
      const { ask } = await openHttpSession(url, token)
      let id = 0
      let link = ''
      for (const [method, params] of Object.entries(REQUESTS)) {
        const body = await ask({ id: ++id, method, params })
        t.equal(body.startsWith('{'), jsonResponse, 'in its own form')
        const { error, ...others } = readMessage(body)
        t.strictSame(others, { jsonrpc: '2.0', id }, method)
        const { elicitations, ...rest } = error!.data
        t.strictSame(rest, {})
        t.equal(error!.code, -32042)
        t.match(error!.message, /^Connect Acme to list your issues\. The user can do so in a browser at https:\/\/mcp\.example\.com\/connect /)
        t.match(elicitations, [{ mode: 'url', elicitationId: /^[\w-]{43}$/, url: /^https:\/\/mcp\.example\.com\/connect\/[\w-]{43}$/, message: 'Connect Acme to list your issues.' }])
        t.strictSame(Object.keys(elicitations[0]).sort(), ['elicitationId', 'message', 'mode', 'url'])
        link ||= elicitations[0].url
        t.equal(elicitations[0].url, link, 'one link for all')
      }
      await connect(link)
      for (const [method, params] of Object.entries(REQUESTS)) {
        const body = await ask({ id: ++id, method, params })
        t.notMatch(body, /resultType/, 'nothing of 2026-07-28')
        t.match(JSON.stringify(readMessage(body).result), /The rabbit hole is too deep/, method)
      }
    })
  }
}
