import Fastify from 'fastify'
import { readFileSync } from 'node:fs'
import t from 'tap'
import type { AuditEvent } from '../../lib/audit-events.js'
import { createAudit, LEVELS } from '../../lib/ops/audit.js'
import { A, B, startServer, type TestServer } from '../fixtures/server.js'

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

async function connect (server: TestServer): Promise<void> {
  const { url, session } = await server.elicit(A)
  const browser = server.browser(A)
  await browser.get((await server.untilCallback(browser, url)).href)
  await session.client.callTool({ name: 'issues' })
}

t.test('every event is documented, with its level and what it means, and no other', async t => {
  const rows = [...read('docs/audit.md').matchAll(/^\| `([\w.]+)` \| (\w+) \| .*? \| (.*) \|$/gm)].map(([, name, level, when]) => [name, level, when])
  const declared = [...read('lib/audit-events.ts').matchAll(/ {2}\/\*\* (.*) \*\/\n {2}'([\w.]+)':/g)].map(([, when, name = '']) => [name, LEVELS[name as never], when])
  t.strictSame(rows, declared)
  t.strictSame(rows.map(([name]) => name), Object.keys(LEVELS))
})

t.test('LOG-10 the whole way is told, to onAudit and to the log, and nothing tells whose it is', async t => {
  const events: AuditEvent[] = []
  const server = await startServer(t, { onAudit: event => events.push(event) })
  const before = Date.now()
  await connect(server)
  await server.browser(A).press('/connect', '/acme/disconnect')
  t.strictSame(events.map(({ event }) => event), [
    'elicitation.created', 'elicitation.opened', 'elicitation.started', 'exchange.started', 'vault.written', 'elicitation.completed', 'exchange.stored', 'vault.read', 'vault.deleted', 'revocation.done'
  ])
  const ids = server.app.mcpConnect.auditIdsOf(A)
  for (const event of events) {
    t.match(event, ids)
    t.ok(event.at >= before && event.at <= Date.now())
    t.throws(() => Object.assign(event, { event: 'changed' }), TypeError)
  }
  t.strictSame(server.log.map(line => (JSON.parse(line) as { audit?: AuditEvent }).audit).filter(audit => audit !== undefined), events)
  t.notMatch(JSON.stringify(events), /login\.example|"a"|T1|client-1/)
  t.not(server.app.mcpConnect.auditIdsOf(B).principal, ids.principal)
  t.strictSame(server.app.mcpConnect.auditIdsOf({ issuer: 'i', subject: 's' }), { principal: server.app.mcpConnect.auditIdsOf({ issuer: 'i', subject: 's' }).principal }, 'no tenant, none told')
  t.throws(() => server.app.mcpConnect.auditIdsOf({ issuer: 'i' } as never), { code: 'FST_MCP_CONNECT_OPTIONS', message: /auditIdsOf takes a principal/ })
})

t.test('an onAudit that throws, rejects or never ends holds nobody up, and the operator hears of the first two', async t => {
  for (const [onAudit, heard] of [
    [() => { throw new Error('the sink is full') }, true],
    [async () => { throw new Error('the sink is full') }, true],
    [() => new Promise(() => {}), false]
  ] as const) {
    const server = await startServer(t, { onAudit })
    await connect(server)
    t.equal(server.log.some(line => /"level":50.*the sink is full.*onAudit failed/.test(line)), heard)
  }
})

t.test('LOG-10 an error of onAudit that cannot be logged, and a logger that throws, lose neither the event nor what is audited', async t => {
  const hostile = Object.defineProperty(new Error('x'), 'message', { get () { throw new Error('a getter') } })
  const events: AuditEvent[] = []
  const lines: string[] = []
  for (const { onAudit, serializers } of [
    { onAudit: () => { throw hostile } },
    { onAudit: async () => { throw hostile } },
    { onAudit: (event: AuditEvent) => { events.push(event) }, serializers: { audit: () => { throw new Error('a serializer') } } }
  ]) {
    const { log } = Fastify({ logger: { stream: { write (line: string) { lines.push(line) } }, ...serializers !== undefined && { serializers } } })
    createAudit(log, onAudit)('session.revoked', { principal: 'p' })
    await new Promise(resolve => setImmediate(resolve))
  }
  t.match(events, [{ event: 'session.revoked' }])
  t.strictSame(lines.map(line => (JSON.parse(line) as { msg: string }).msg.replace(/[,:] (and|which) .*/, '')), [
    'mcp-connect: session.revoked', 'mcp-connect: onAudit failed', 'mcp-connect: session.revoked', 'mcp-connect: onAudit failed', 'mcp-connect: session.revoked'
  ])
})
