import t from 'tap'
import undici from 'undici'
import { memoryStore } from '../../lib/index.js'
import { HOLD_MS } from '../../lib/elicitation/elicitations.js'
import type { AuditEvent } from '../../lib/audit-events.js'
import { advance } from '../fixtures/clock.js'
import { pauseTokenAnswer } from '../fixtures/pause.js'
import { A, startServer, type TestServer } from '../fixtures/server.js'

type Exchange = Extract<AuditEvent, { attempt: string }>

function auditOf ({ log }: TestServer): Exchange[] {
  return log.map(line => (JSON.parse(line) as { audit?: AuditEvent }).audit).filter(audit => audit !== undefined && 'attempt' in audit)
}

const events = (server: TestServer): string[] => auditOf(server).map(({ event }) => event)

t.test('a code that is redeemed is said before, and how it ended after; nothing tells whose it is', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  const paused = pauseTokenAnswer(t)
  const answer = browser.get((await server.untilCallback(browser, url)).href)
  await paused.reached
  t.strictSame(events(server), ['exchange.started'])
  paused.resume()
  t.equal((await answer).statusCode, 303)
  const [started, stored] = auditOf(server)
  t.match(stored, { event: 'exchange.stored', provider: 'acme', attempt: started!.attempt, principal: /^[0-9a-f]{64}$/, elicitation: /^[0-9a-f]{64}$/ })
  t.strictSame({ ...started, event: '', at: 0 }, { ...stored, event: '', at: 0 })
})

t.test('REC-12 a token answer that was lost, and a vault that fails, may have left a grant', async t => {
  const { vault, ...store } = memoryStore()
  const server = await startServer(t, { store: { ...store, vault: { ...vault, put: async () => { throw new Error('down') } } } })
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  t.equal((await browser.get((await server.untilCallback(browser, url)).href)).statusCode, 503)
  t.strictSame(events(server), ['exchange.started', 'exchange.orphan_possible'])
  const { fetch } = undici
  t.intercept(undici, 'fetch', {
    value: async (...args: Parameters<typeof fetch>) => {
      const response = await fetch(...args)
      if (args[1]?.method === 'POST') throw new TypeError('connection reset')
      return response
    }
  })
  t.equal((await browser.get((await server.untilCallback(browser, url)).href)).statusCode, 502)
  t.strictSame(events(server).slice(2), ['exchange.started', 'exchange.orphan_possible'])
})

t.test('a provider that gives nothing leaves nothing behind', async t => {
  const server = await startServer(t, { acme: { clientSecret: 'wrong' } })
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  t.equal((await browser.get((await server.untilCallback(browser, url)).href)).statusCode, 502)
  t.strictSame(events(server), ['exchange.started', 'exchange.refused'])
})

t.test('REC-04 an attempt that has ended without a word is told by who takes over', async t => {
  const store = memoryStore()
  const server = await startServer(t, { store })
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  pauseTokenAnswer(t)     // and never let go: as if the process had been killed there
  const lost = await server.untilCallback(browser, url)
  browser.get(lost.href).catch(() => {})
  while (events(server).length === 0) await new Promise(resolve => setImmediate(resolve))
  const [{ attempt }] = auditOf(server) as [Exchange]
  advance(t, HOLD_MS)
  t.equal((await browser.get((await server.untilCallback(browser, url)).href)).statusCode, 303)
  t.match(auditOf(server), [
    { event: 'exchange.started', attempt },
    { event: 'exchange.orphan_possible', attempt },
    { event: 'exchange.started' },
    { event: 'exchange.stored' }
  ])
  t.match(server.log.find(line => line.includes('orphan_possible')), '"level":40')
})

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
