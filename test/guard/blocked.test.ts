import t from 'tap'
import type { AuditEvent, BlockReason } from '../../lib/audit-events.js'
import { A, startServer } from '../fixtures/server.js'

t.test('LOG-10 a guarded handler that did not run is told once, with why and for whom; one whose caller was sent a link is not', async t => {
  const blocked: object[] = []
  let allowed = true
  const server = await startServer(t, {
    authorize: () => allowed,
    onAudit: (event: AuditEvent) => { if (event.event === 'guard.blocked') blocked.push({ ...event, event: undefined, at: undefined }) }
  })
  const ids = server.app.mcpConnect.auditIdsOf(A)
  const expectBlocked = async (reason: BlockReason, who: object, call: () => Promise<unknown>): Promise<void> => {
    blocked.length = 0
    await call()
    t.strictSame(blocked, [{ ...who, reason, providers: ['acme'], event: undefined, at: undefined }], reason)
  }

  const { url, session } = await server.elicit(A)
  t.strictSame(blocked, [])
  const call = async (): Promise<unknown> => await session.client.callTool({ name: 'issues' })
  const nobody = await server.openSession({})
  await expectBlocked('no_principal', {}, async () => await nobody.client.callTool({ name: 'issues' }))
  const withoutUrlMode = await server.openSession({ user: A, capabilities: {} })
  await expectBlocked('not_connected', ids, async () => await withoutUrlMode.client.callTool({ name: 'issues' }))
  allowed = false
  await expectBlocked('not_authorized', ids, call)
  allowed = true
  await server.browser(A).press(url, '/decline')
  await expectBlocked('declined', ids, call)
  const { get } = server.store.vault
  t.intercept(server.store.vault, 'get', { value: async () => ({ value: 'x', revision: 'x' }) })
  await expectBlocked('unreadable', ids, call)
  t.intercept(server.store.vault, 'get', { value: async () => { throw new Error('down') } })
  await expectBlocked('failure', ids, call)
  t.intercept(server.store.vault, 'get', { value: get })
})
