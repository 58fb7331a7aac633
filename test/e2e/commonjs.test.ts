import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import Fastify from 'fastify'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import type * as Module from '../../lib/index.js'
import { URL_MODE } from '../fixtures/mcp-session.js'

if (!existsSync('dist/cjs/index.js')) throw new Error('dist/ is missing, and this test runs the built package: npm run build')

/** Starts the application with plain node, without the test runner's loaders. @returns the address of its endpoint */
async function start (t: Test, sdk: string): Promise<URL> {
  const { NODE_OPTIONS, ...env } = process.env
  const app = spawn(process.execPath, ['test/fixtures/commonjs-app.cjs', sdk], { env })
  const ended = Promise.all([once(app, 'close'), text(app.stderr)])
  t.teardown(async () => {
    app.stdin.end()
    await ended
  })
  const [first] = await Promise.race([
    once(createInterface(app.stdout), 'line'),
    ended.then(([[code], stderr]) => { throw new Error(`the application ended with ${code}: ${stderr}`) })
  ])
  return new URL(first)
}

for (const sdk of ['required', 'imported']) {
  t.test(`a CommonJS application with the SDK ${sdk}: -32042 stands on the wire`, async t => {
    const url = await start(t, sdk)
    const bodies: string[] = []
    const recordingFetch: typeof fetch = async (input, init) => {
      const response = await fetch(input, init)
      if (init?.method === 'POST') bodies.push(await response.clone().text())
      return response
    }
    const client = new Client({ name: 'test-client', version: '1.0.0' }, { capabilities: URL_MODE })
    await client.connect(new StreamableHTTPClientTransport(url, { fetch: recordingFetch }))
    t.teardown(() => client.close())

    await t.rejects(client.callTool({ name: 'whoami' }), { code: -32042 })
    const answer = JSON.parse(bodies.at(-1)!)
    t.notOk('result' in answer, 'no isError text')
    t.match(answer, {
      jsonrpc: '2.0',
      error: {
        code: -32042,
        data: { elicitations: [{ mode: 'url', elicitationId: /^[\w-]{43}$/, url: /^https:\/\/mcp\.example\.com\/connect\/[\w-]{43}$/ }] }
      }
    })
    t.equal(answer.error.data.elicitations.length, 1)
  })
}

t.test('a server of another copy of the SDK is refused when the guard is made', async t => {
  const copy = join(t.testdir(), 'sdk')
  cpSync('node_modules/@modelcontextprotocol/sdk/dist/cjs', copy, { recursive: true })
  await t.rejects(start(t, copy), { message: /ended with 1: .*npm ls @modelcontextprotocol\/sdk.*FST_MCP_CONNECT_SDK_MISMATCH/s })
})

t.test('what require() gives can be registered, and so can its members', async t => {
  const required = createRequire(import.meta.url)('fastify-mcp-connect') as typeof Module
  for (const plugin of [required as never, required.default, required.mcpConnect]) {
    const app = Fastify()
    t.teardown(() => app.close())
    await app.register(plugin, {
      baseUrl: 'https://mcp.example.com',
      store: required.memoryStore(),
      keys: [randomBytes(32).toString('base64')],
      browser: { identify: () => null },
      providers: {}
    })
    t.equal(app.mcpConnect.connectionsUrl, 'https://mcp.example.com/connect')
  }
})
