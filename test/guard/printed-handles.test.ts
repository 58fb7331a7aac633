import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { inspect } from 'node:util'
import { memoryStore } from '../../lib/index.js'
import type { Connection } from '../../lib/types.js'
import { openMcpSession } from '../fixtures/mcp-session.js'
import { prints } from '../fixtures/prints.js'
import { Secrets } from '../fixtures/secrets.js'
import { A, B, startServer } from '../fixtures/server.js'

t.test('LOG-05 what hosts and tools hold in their hands shows no secret, however it is printed', async t => {
  const secrets = new Secrets()
  const key = randomBytes(32)
  for (const value of [key, key.toString('base64')]) secrets.add('key', value)
  secrets.add('MCP access token', 'bearer-canary')
  const store = memoryStore()
  const { app, acme, elicit, browser, untilCallback } = await startServer(t, { store, keys: [key.toString('base64')] })
  secrets.add('client secret', acme.clientSecret)
  const callback = await untilCallback(browser(A), (await elicit(A)).url)
  for (const name of ['code', 'state']) secrets.add(name, callback.searchParams.get(name)!)
  const own = browser(A)
  await own.get((await untilCallback(own, (await elicit(A)).url)).href)

  const server = new McpServer({ name: 'test', version: '1.0.0' })
  const guard = app.mcpConnect.for(server)
  const connections: Connection[] = []
  const errors: unknown[] = []
  const guarded = guard.requireConnection('acme', async (connection, _context: unknown) => {
    connections.push(connection)
    return { content: [] }
  })
  server.registerTool('issues', {}, async context => await guarded(context).catch((error: unknown) => {
    errors.push(error)
    throw error
  }))
  for (const user of [A, B, undefined]) {
    const { client, close } = await openMcpSession(server, user === undefined ? {} : { user })
    await client.callTool({ name: 'issues' }).catch(() => {})
    await close()
  }
  const [connection] = connections
  secrets.add('access token', await connection!.accessToken())
  for (const [url, code] of [['https://attacker.example/', 'FST_MCP_CONNECT_API_ORIGIN'], ['https://user:canary@api.example', undefined]]) {
    const error = await connection!.fetch(url!).then(() => null, error => error)
    t.equal(error.code, code)
    t.notMatch(prints(error), 'canary')
    errors.push(error)
  }
  await acme.close()
  errors.push(await connection!.fetch(`${acme.apiOrigin}/api/issues`).then(() => null, error => error))

  t.match(errors, [{ code: -32042 }, { name: 'NotRunError' }, { code: 'FST_MCP_CONNECT_API_ORIGIN' }, { name: 'TypeError' }, { name: 'TypeError' }])
  for (const error of errors) t.strictSame(secrets.find(prints(error)), [], String(error))
  for (const [name, value] of Object.entries({ connection, guard, guarded, store, 'app.mcpConnect': app.mcpConnect })) t.strictSame(secrets.find(prints(value)), [], name)
  for (const depth of [2, 5]) t.strictSame(secrets.find(inspect(app, { depth })), [], `the application, ${depth} levels of it`)
  t.match(prints(connection), /scopes: \[ 'issues:read'/, 'what may be seen is')
  t.notSame(secrets.find(prints({ connection, token: await connection!.accessToken() })), [], 'what would stand there is found')
})
