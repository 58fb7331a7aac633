import t from 'tap'
import { allowLoopbackHttp, oidcLogin } from '../../lib/index.js'
import { findForm } from '../fixtures/browser.js'
import { api, startEnding } from '../fixtures/ending-server.js'
import { startFake } from '../fixtures/presets.js'
import { refused } from '../fixtures/refused.js'
import { A, A2 } from '../fixtures/server.js'

t.test('the operator disconnects: all accounts, or one', async t => {
  const { server, fake, connect, run } = await startEnding(t, {}, { scopes: ['openid', 'email'] })
  const { mcpConnect } = server.app
  await connect(A)
  t.equal(await run(A, api(fake)), 200)
  t.strictSame(await mcpConnect.disconnect(A, 'acme', 'bob'), [], 'an account that is not there')
  t.strictSame(await mcpConnect.disconnect(A, 'acme', 'alice@example.com'), [{ account: { subject: 'alice', label: 'alice@example.com' }, atProvider: 'revoked' }])
  t.equal(await server.vaultRows(), '[]')
  t.strictSame(await mcpConnect.disconnect(A, 'acme'), [])
  await t.rejects(run(A, api(fake)), { code: -32042 })
  await t.rejects(mcpConnect.disconnect(A, 'gitlab'), { code: 'FST_MCP_CONNECT_UNKNOWN_PROVIDER' })
  for (const wrong of [null, {}, { issuer: 'x' }]) {
    await t.rejects(mcpConnect.disconnect(wrong as never, 'acme'), { code: 'FST_MCP_CONNECT_OPTIONS', message: /disconnect takes a principal/ })
    await t.rejects(mcpConnect.removePrincipal(wrong as never), { code: 'FST_MCP_CONNECT_OPTIONS', message: /removePrincipal takes a principal/ })
  }
})

t.test('TEN-08 disconnecting one tenant\'s user touches no other tenant\'s, by the page, the operator or the tool', async t => {
  const { server, fake, connect, run } = await startEnding(t)
  const own = await connect(A)
  const other = await connect(A2)
  const foreign = findForm(await other.get('/connect'), '/acme/disconnect')
  await refused(t, server, () => own.post(foreign.action, foreign.fields), { status: 403, code: 'CSRF_FAILED', event: 'csrf.failed' })
  const works = async (): Promise<unknown> => await run(A2, api(fake))
  t.equal(await works(), 200)
  await own.press('/connect', '/acme/disconnect')
  t.equal(await works(), 200)
  await connect(A)
  await server.app.mcpConnect.disconnect(A, 'acme')
  t.equal(await works(), 200)
  await connect(A)
  await run(A, async connection => await connection.disconnect())
  t.equal(await works(), 200)
  await connect(A)
  t.match(await server.app.mcpConnect.removePrincipal(A), { connections: 1, grants: { revoked: 1 } })
  t.equal(await works(), 200)
})

t.test('the tool ends its own connection, and can use it no longer', async t => {
  const { server, fake, connect, run, told } = await startEnding(t)
  await connect(A)
  await run(A, async connection => {
    t.equal(await api(fake)(connection), 200)
    const [ended, again] = await Promise.all([connection.disconnect(), connection.disconnect()])
    t.strictSame(ended, { account: undefined, atProvider: 'revoked' })
    t.equal(again, ended)
    const calls: ReadonlyArray<() => Promise<unknown>> = [() => connection.accessToken(), () => connection.fetch(`${fake.issuer}/api`)]
    for (const call of calls) {
      await t.rejects(call(), { code: 'FST_MCP_CONNECT_CONNECTION_ENDED', message: /Fake was ended by its own disconnect/ })
    }
  })
  t.strictSame(told(), ['revocation.done'])
  t.equal(await server.vaultRows(), '[]')
  await t.rejects(run(A, api(fake)), { code: -32042 }, 'the next call asks')

  await connect(A)
  await run(A, async connection => {
    await server.app.mcpConnect.disconnect(A, 'acme')
    t.equal(await connection.disconnect(), null, 'somebody else was quicker')
  })
})

t.test('a tool whose disconnect fails can try again', async t => {
  const { server, connect, run } = await startEnding(t)
  await connect(A)
  await run(A, async connection => {
    const { delete: remove } = server.store.vault
    let failed = false
    t.intercept(server.store.vault, 'delete', {
      value: async (...args: Parameters<typeof remove>) => {
        if (failed) return await remove(...args)
        failed = true
        throw new Error('down')
      }
    })
    await t.rejects(connection.disconnect(), { code: 'FST_MCP_CONNECT_ADAPTER_FAILED' })
    t.match(await connection.accessToken(), /^[\w-]{43}$/)
    t.match(await connection.disconnect(), { atProvider: 'revoked' })
  })
})

t.test('removePrincipal ends browser sessions of oidcLogin', async t => {
  const fake = await startFake(t)
  const { server } = await startEnding(t, {}, {}, { browser: oidcLogin({ issuer: fake.issuer, clientId: 'client', clientSecret: 'secret', [allowLoopbackHttp]: true }) })
  t.strictSame(await server.app.mcpConnect.removePrincipal(A), {
    connections: 0, grants: { revoked: 0, later: 0, unsupported: 0, refused: 0, spared: 0, unconfigured: 0, unreadable: 0, lost: 0 }
  })
  t.strictSame(server.audit.map(({ event }) => event), ['session.revoked'])
})
