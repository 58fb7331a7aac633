import t from 'tap'
import { auditIdsOf } from '../../lib/principal.js'
import { connect, start, startProcess, user } from '../fixtures/ending.js'
import { plainClient } from '../fixtures/plain-client.js'

t.test('removePrincipal leaves no row, of whichever provider, and nothing of others is touched', async t => {
  const { store, fake, provider } = await start(t)
  const before = startProcess(store, { acme: provider, mail: provider, old: provider })
  const alice = { subject: 'alice' }
  const own = [
    await connect(before, fake, user('a'), provider, 'acme', alice),
    await connect(before, fake, user('a'), provider, 'acme', { subject: 'bob' }),
    await connect(before, fake, user('a'), provider, 'mail', alice),
    await connect(before, fake, user('a'), provider, 'old', alice)
  ]
  const others = [await connect(before, fake, user('b'), provider), await connect(before, fake, user('a', 'T2'), provider)]
  const process = startProcess(store, { acme: provider, mail: provider })
  const { connections, grants } = await process.disconnecting.removePrincipal(user('a'))
  t.equal(connections, 3)
  t.match(grants, { revoked: 3, unconfigured: 1, later: 0, spared: 0 })
  t.strictSame((await store.vault.list({ owner: auditIdsOf(user('a')).principal, limit: 10 })).entries, [])
  t.equal((await store.vault.list({ limit: 10 })).entries.length, 2)
  t.strictSame(await Promise.all(own.map(one => one.works())), [false, false, false, true])
  for (const one of others) t.equal(await one.works(), true)
  t.strictSame(process.told().sort(), ['revocation.done', 'revocation.done', 'revocation.done', 'revocation.failed unconfigured'])
  t.match(process.audit.filter(({ event }) => event === 'vault.deleted').map(event => 'provider' in event && event.provider).sort(), ['?', 'acme', 'mail'])
  t.match(await process.disconnecting.removePrincipal(user('a')), { connections: 0, grants: { revoked: 0 } })
})

t.test('removePrincipal: more connections than a page, what cannot be read, and one that is stored meanwhile', async t => {
  const { store, fake, provider } = await start(t)
  const keys = Array.from({ length: 120 }, (_, i) => `p${i}`)
  const process = startProcess(store, Object.fromEntries(keys.map(key => [key, provider])))
  const { tokens } = await plainClient(fake).connect()
  const grant = { accessToken: String(tokens['access_token']), scopes: [], requestedScopes: [] }
  for (const key of keys.slice(0, -1)) await process.connections.save(user('a'), key, provider, grant, null, async () => {})
  const { entries: [entry] } = await store.vault.list({ limit: 1 })
  await store.vault.put(entry!.owner, entry!.name, 'broken', (await store.vault.get(entry!.owner, entry!.name))!.revision)
  const { delete: remove } = store.vault
  let between = true
  t.intercept(store.vault, 'delete', {
    value: async (...args: Parameters<typeof remove>) => {
      if (between) {
        between = false
        await process.connections.save(user('a'), keys.at(-1)!, provider, grant, null, async () => {})
      }
      return await remove(...args)
    }
  })
  const { connections, grants } = await process.disconnecting.removePrincipal(user('a'))
  t.equal(connections, 120)
  t.match(grants, { revoked: 119, unreadable: 1 })
  t.strictSame((await store.vault.list({ limit: 10 })).entries, [])
})
