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

/** Starts the application with plain node, without the test runner's loaders. */
function start (t: Test, sdk: string): { readonly url: Promise<string>, readonly end: Promise<{ code: number | null, stderr: string }> } {
  const { NODE_OPTIONS, ...env } = process.env
  const app = spawn(process.execPath, ['test/fixtures/commonjs-app.cjs', sdk], { env })
  const stderr = text(app.stderr)
  const end = once(app, 'close').then(async ([code]) => ({ code: code as number | null, stderr: await stderr }))
  t.teardown(async () => {
    app.stdin.end()
    await end
  })
  const url = Promise.race([
    once(createInterface(app.stdout), 'line').then(([line]) => line as string),
    end.then(({ stderr }) => { throw new Error(`the application ended: ${stderr}`) })
  ])
  url.catch(() => {})
  return { url, end }
}

for (const sdk of ['required', 'imported']) {
  t.test(`a CommonJS application with the SDK ${sdk}: -32042 stands on the wire`, async t => {
    const { url } = start(t, sdk)
    const bodies: string[] = []
    const recordingFetch: typeof fetch = async (input, init) => {
      const response = await fetch(input, init)
      if (init?.method === 'POST') bodies.push(await response.clone().text())
      return response
    }
    const client = new Client({ name: 'test-client', version: '1.0.0' }, { capabilities: URL_MODE })
    await client.connect(new StreamableHTTPClientTransport(new URL(await url), { fetch: recordingFetch }))
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
  const { code, stderr } = await start(t, copy).end
  t.equal(code, 1)
  t.match(stderr, 'FST_MCP_CONNECT_SDK_MISMATCH')
  t.match(stderr, 'npm ls @modelcontextprotocol/sdk')
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
