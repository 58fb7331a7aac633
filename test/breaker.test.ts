import Fastify from 'fastify'
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { mcpConnect, memoryStore } from '../lib/index.js'
import { A, startServer } from './fixtures/server.js'

t.test('LOG-10 an authorization response that a mistake of the host has failed, and that has spent its flow, is an event', async t => {
  const events: string[] = []
  let broken = false
  const server = await startServer(t, {
    onAudit: ({ event }) => { events.push(event) },
    authorize: () => {
      if (broken) throw new Error('the database is down')
      return true
    }
  })
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  const callback = await server.untilCallback(browser, url)
  broken = true
  events.length = 0
  t.equal((await browser.get(callback.href)).statusCode, 500)
  t.strictSame(events, ['request.failed'])
})

t.test('routes of the host beneath the prefix take what Fastify takes', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  app.get('/connect/files/:name', async () => 'mine')
  app.get('/connect/all/*', async () => 'mine')
  await app.register(mcpConnect, {
    baseUrl: 'https://mcp.example.com', keys: [randomBytes(32).toString('base64')], store: memoryStore(), browser: { identify: () => null }, providers: {}
  })
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  for (const path of [`/connect/files/${'x'.repeat(80)}`, `/connect/all/${'x'.repeat(300)}`]) t.equal(await (await fetch(address + path)).text(), 'mine', path.slice(0, 20))
})
