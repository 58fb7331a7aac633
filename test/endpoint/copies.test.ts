import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import t, { type Test } from 'tap'
import { reservePort } from '../../examples/demo/ports.js'
import { startIssuer, type Issuer } from '../fixtures/endpoint.js'

if (!existsSync('dist/cjs/endpoint/index.js')) throw new Error('dist/ is missing, and this test runs the built package: npm run build')

/** Starts the application with plain node, without the test runner's loaders. @returns the address of its endpoint */
async function start (t: Test, { issuer }: Issuer, plugin: string, sdk: string, version: string): Promise<URL> {
  const { NODE_OPTIONS, ...env } = process.env
  const { port, release } = await reservePort(0)
  await release()
  const app = spawn(process.execPath, ['test/fixtures/endpoint-app.cjs', plugin, sdk, version, issuer, String(port)], { env })
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

for (const plugin of ['required', 'imported']) {
  for (const sdk of ['required', 'imported']) {
    for (const version of ['v1', 'v2'] as const) {
      t.test(`the plugin ${plugin}, SDK ${version} ${sdk}: every era is served`, async t => {
        const issuer = await startIssuer(t)
        const url = await start(t, issuer, plugin, sdk, version)
        const token = await issuer.sign({ iss: issuer.issuer, aud: url.href, sub: 'a', client_id: 'client-1', exp: Math.floor(Date.now() / 1000) + 60 })
        for (const mode of ['legacy', 'auto'] as const) {
          const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } })
          await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers: { authorization: `Bearer ${token}` } } }))
          t.equal(client.getNegotiatedProtocolVersion(), mode === 'auto' && version === 'v2' ? '2026-07-28' : '2025-11-25')
          t.match(await client.callTool({ name: 'whoami', arguments: {} }), { content: [{ text: 'a' }] })
          await client.close()
        }
      })
    }
  }
}

t.test('a copy that cannot be reached: of SDK v1 it is served by another one, of SDK v2 it is refused at start-up', async t => {
  const issuer = await startIssuer(t)
  const folder = t.testdir()
  cpSync('node_modules/@modelcontextprotocol/sdk/dist/cjs', join(folder, 'v1'), { recursive: true })
  cpSync('node_modules/@modelcontextprotocol/server/dist', join(folder, 'v2'), { recursive: true })
  t.ok(await start(t, issuer, 'required', join(folder, 'v1'), 'v1'))
  await t.rejects(start(t, issuer, 'required', join(folder, 'v2'), 'v2'), { message: /ended with 1: .*npm ls @modelcontextprotocol\/server.*FST_MCP_CONNECT_SDK_UNREACHABLE/s })
})
