import { randomBytes } from 'node:crypto'
import t from 'tap'
import { createConnections, type Connections } from '../../lib/connections/connections.js'
import type { StoredGrant } from '../../lib/connections/entry.js'
import { defineProvider, memoryStore } from '../../lib/index.js'
import type { TokenVault } from '../../lib/storage.js'
import type { Grant, Principal, Provider } from '../../lib/types.js'
import { createKeyRing } from '../../lib/vault/key-ring.js'
import { createSealer } from '../../lib/vault/sealer.js'

const providerAt = (issuer: string): Provider => defineProvider({ name: 'Acme', issuer, clientId: 'id', apiOrigins: ['https://api.acme.example'] })
const provider = providerAt('https://acme.example')
const elsewhere = providerAt('https://old.example')
const sealer = createSealer(createKeyRing([randomBytes(32)]))
const resealing = { lazily () {} }
const a = { issuer: 'https://login.example.com', subject: 'canary-a', tenant: 'T1' }
const grant = (accessToken: string): Grant => ({ accessToken, scopes: [], requestedScopes: [] })

const save = async (connections: Connections, ...args: [Principal, string, Provider, Grant]): Promise<string> =>
  (await connections.save(...args, null, async () => {})).saved.id

async function find (connections: Connections, principal: Principal, key: string): Promise<StoredGrant | null> {
  const found = await connections.look(principal, key, provider)
  return found.kind === 'usable' ? found.entry.accounts[0] : null
}

t.test('no look-up finds what is another\'s', async t => {
  const { vault } = memoryStore()
  const connections = createConnections({ vault, sealer, resealing, audit: () => {} })
  await save(connections, a, 'acme', provider, grant('canary-token'))
  t.equal((await find(connections, a, 'acme'))?.grant.accessToken, 'canary-token')
  for (const [principal, key] of [
    [{ ...a, subject: 'b' }, 'acme'], [{ ...a, tenant: 'T2' }, 'acme'], [{ ...a, issuer: 'https://x.example' }, 'acme'], [a, 'other']
  ] as const) {
    t.equal(await find(connections, principal, key), null)
    t.equal(await connections.remove(principal, key), null)
  }
  const { entries: [entry] } = await vault.list({ limit: 10 })
  t.match(entry, { owner: /^[0-9a-f]{64}$/, name: /^[0-9a-f]{64}$/ })
  t.notMatch(JSON.stringify([entry, await vault.get(entry!.owner, entry!.name)]), 'canary')
})

t.test('VLT-02 VLT-03 VLT-04 a row that was moved to another user, tenant or provider does not open', async t => {
  const { vault } = memoryStore()
  const connections = createConnections({ vault, sealer, resealing, audit: () => {} })
  await save(connections, a, 'acme', provider, grant('canary-token'))
  const { entries: [from] } = await vault.list({ limit: 10 })
  const stolen = (await vault.get(from!.owner, from!.name))!.value
  for (const [principal, key] of [[{ ...a, subject: 'b' }, 'acme'], [{ ...a, tenant: 'T2' }, 'acme'], [a, 'other']] as const) {
    await save(connections, principal, key, provider, grant('own'))
    const { entries } = await vault.list({ limit: 10 })
    for (const { owner, name } of entries) {
      if (owner === from!.owner && name === from!.name) continue
      await vault.put(owner, name, stolen, (await vault.get(owner, name))!.revision)
    }
    t.match(await connections.look(principal, key, provider), { kind: 'unreadable', error: { code: 'FST_MCP_CONNECT_SEAL_BROKEN' } })
  }
})

t.test('a lost race is run again; one that is never won is an error', async t => {
  const { vault } = memoryStore()
  let losses = 1
  const contended: TokenVault = {
    ...vault,
    put: async (...args) => losses-- > 0 ? null : await vault.put(...args),
    delete: async (...args) => losses-- > 0 ? false : await vault.delete(...args)
  }
  const connections = createConnections({ vault: contended, sealer, resealing, audit: () => {} })
  await save(connections, a, 'acme', provider, grant('x'))
  losses = 1
  t.match(await connections.remove(a, 'acme'), [{ grant: grant('x') }])
  t.equal(await connections.remove(a, 'acme'), null)
  losses = Infinity
  await t.rejects(save(connections, a, 'acme', provider, grant('x')), { code: 'FST_MCP_CONNECT_STORE_CONTENTION', statusCode: 503 })
})

t.test('T06 what another issuer granted is no connection, and is replaced by the next', async t => {
  const connections = createConnections({ vault: memoryStore().vault, sealer, resealing, audit: () => {} })
  await save(connections, a, 'acme', elsewhere, grant('old'))
  t.equal(await find(connections, a, 'acme'), null)
  t.match(await connections.look(a, 'acme', provider), { kind: 'foreign' }, 'but the user can see it')
  await save(connections, a, 'acme', provider, grant('new'))
  t.equal((await find(connections, a, 'acme'))?.grant.accessToken, 'new')
})

t.test('grants that are saved at once: what was asked for by either is remembered, for this issuer', async t => {
  const connections = createConnections({ vault: memoryStore().vault, sealer, resealing, audit: () => {} })
  const asked = async (): Promise<readonly string[] | undefined> => (await find(connections, a, 'acme'))?.grant.requestedScopes
  await save(connections, a, 'acme', elsewhere, { ...grant('old'), requestedScopes: ['old'] })
  await Promise.all(['x', 'y', 'x'].map(scope => save(connections, a, 'acme', provider, { ...grant(scope), requestedScopes: [scope] })))
  t.strictSame([...await asked() ?? []].sort(), ['x', 'y'])
  await save(connections, a, 'acme', provider, { ...grant('wide'), scopes: ['x', 'z'], requestedScopes: ['x', 'z'] })
  t.strictSame([...await asked() ?? []].sort(), ['x', 'y', 'z'])
  await save(connections, a, 'acme', provider, { ...grant('narrow'), scopes: ['z'], requestedScopes: ['z'] })
  t.strictSame([...await asked() ?? []].sort(), ['y', 'z'], 'what was granted was not withheld')
  await connections.remove(a, 'acme')
  await save(connections, a, 'acme', provider, { ...grant('z'), requestedScopes: ['z'] })
  t.strictSame(await asked(), ['z'], 'a disconnect forgets')
})

t.test('one grant can be taken back, and no later one in its place', async t => {
  const connections = createConnections({ vault: memoryStore().vault, sealer, resealing, audit: () => {} })
  const first = await save(connections, a, 'acme', provider, grant('first'))
  const second = await save(connections, a, 'acme', provider, grant('second'))
  t.equal(await connections.remove(a, 'acme', first), null)
  t.equal((await find(connections, a, 'acme'))?.grant.accessToken, 'second')
  t.match(await connections.remove(a, 'acme', second), [{ id: second }])
  t.strictSame(await connections.look(a, 'acme', provider), { kind: 'none', revision: null })
})

t.test('whether a grant may still be stored is asked before each attempt', async t => {
  const { vault } = memoryStore()
  let checks = 0
  const connections = createConnections({ vault, sealer, resealing, audit: () => {} })
  await t.rejects(connections.save(a, 'acme', provider, grant('late'), null, async () => {
    if (++checks === 2) throw new Error('no longer')
    await save(connections, a, 'acme', provider, grant('newer'))
  }), { message: 'no longer' })
  t.equal((await find(connections, a, 'acme'))?.grant.accessToken, 'newer')
})

t.test('an entry that cannot be read is not taken for a grant that is gone', async t => {
  const { vault } = memoryStore()
  const mine = createConnections({ vault, sealer, resealing, audit: () => {} })
  const { saved } = await mine.save(a, 'acme', provider, grant('x'), null, async () => {})
  const other = createConnections({ vault, sealer: createSealer(createKeyRing([randomBytes(32)])), resealing, audit: () => {} })
  await t.rejects(other.change(a, 'acme', saved, stored => stored), { code: 'FST_MCP_CONNECT_SEAL_BROKEN' })
  t.match(await mine.change(a, 'acme', saved, stored => ({ ...stored, version: 1 })), { changed: true, now: { version: 1 } })
})
