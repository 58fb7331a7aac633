import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { createConnections, type Connections } from '../../lib/connections/connections.js'
import { createResealing, type Resealing } from '../../lib/connections/resealing.js'
import { defineProvider, memoryStore, type Principal, type ResealReport, type TokenVault } from '../../lib/index.js'
import { hashPrincipal } from '../../lib/principal.js'
import { createKeyRing } from '../../lib/vault/key-ring.js'
import { createSealer, type Sealer } from '../../lib/vault/sealer.js'
import { advance } from '../fixtures/clock.js'
import { pause } from '../fixtures/pause.js'

const acme = defineProvider({ name: 'Acme', issuer: 'https://acme.example', clientId: 'id', apiOrigins: ['https://api.acme.example'] })
const [oldKey, newKey] = [randomBytes(32), randomBytes(32)]
const user = (subject: string): Principal => ({ issuer: 'https://login.example.com', subject, tenant: 'T1' })

interface Process {
  readonly connections: Connections
  readonly resealing: Resealing
  readonly sealer: Sealer
  readonly warnings: unknown[]
}

/** One process with its own ring, on a vault that it shares. */
function process (vault: TokenVault, ...ring: [Buffer, ...Buffer[]]): Process {
  const warnings: unknown[] = []
  const sealer = createSealer(createKeyRing(ring))
  const resealing = createResealing({ vault, sealer, audit: () => {}, log: { warn: (...args: unknown[]) => { warnings.push(args) } } as never })
  return { connections: createConnections({ vault, sealer, resealing, audit: () => {} }), resealing, sealer, warnings }
}

async function connect ({ connections }: Process, subject: string, accessToken: string, provider = 'acme'): Promise<string> {
  return (await connections.save(user(subject), provider, acme, { accessToken, scopes: [], requestedScopes: [] }, null, async () => {})).saved.id
}

async function tokenOf ({ connections }: Process, subject: string): Promise<string | undefined> {
  const lookup = await connections.look(user(subject), 'acme', acme)
  return lookup.kind === 'usable' ? lookup.entry.accounts[0].grant.accessToken : undefined
}

async function keysOf (vault: TokenVault, { sealer }: Process): Promise<Set<string>> {
  const { entries } = await vault.list({ limit: 10_000 })
  return new Set(await Promise.all(entries.map(async ({ owner, name }) => sealer.keyIdOf((await vault.get(owner, name))!.value))))
}

const idOf = (key: Buffer): string => createKeyRing([key]).newest.id

/** Old grants of so many users. */
async function startOld (count: number): Promise<{ vault: TokenVault, before: Process, after: Process }> {
  const { vault } = memoryStore()
  const [before, after] = [process(vault, oldKey), process(vault, newKey, oldKey)]
  for (let i = 0; i < count; i++) await connect(before, `user ${i}`, `token ${i}`)
  return { vault, before, after }
}

t.test('VLT-09 every grant is sealed with the newest key, with a report and progress, and the old key can go', async t => {
  const { vault, after } = await startOld(45)
  await connect(after, 'newcomer', 'token')
  const progress: ResealReport[] = []
  const dry = { entries: 46, current: 1, resealed: 45, unreadable: {} }
  t.strictSame(await after.resealing.all({ dryRun: true }), dry)
  t.strictSame(await keysOf(vault, after), new Set([idOf(oldKey), idOf(newKey)]), 'a dry run writes nothing')
  t.strictSame(await after.resealing.all({ onProgress: report => progress.push(report) }), dry)
  t.strictSame(progress.map(({ entries }) => entries), [20, 40, 46])
  t.strictSame(await keysOf(vault, after), new Set([idOf(newKey)]))
  t.strictSame(await after.resealing.all(), { entries: 46, current: 46, resealed: 0, unreadable: {} })
  const last = process(vault, newKey)
  for (let i = 0; i < 45; i++) t.equal(await tokenOf(last, `user ${i}`), `token ${i}`)
})

t.test('VLT-09 what is read is sealed anew in the background, once', async t => {
  const { vault, after } = await startOld(2)
  const puts = t.capture(vault, 'put', vault.put)
  t.strictSame(await Promise.all(Array.from({ length: 100 }, () => tokenOf(after, 'user 0'))), Array(100).fill('token 0'))
  await after.resealing.close()
  t.equal(puts().length, 1)
  t.strictSame(await keysOf(vault, after), new Set([idOf(oldKey), idOf(newKey)]), 'what is not read waits for the command')
  t.equal(await tokenOf(process(vault, newKey), 'user 0'), 'token 0')
  await tokenOf(after, 'user 0')
  await after.resealing.close()
  t.equal(puts().length, 0, 'what is current is left alone')
})

t.test('two processes that disagree about the newest key do not seal a grant in turns', async t => {
  const { vault, before, after } = await startOld(1)
  const other = process(vault, oldKey, newKey)
  const puts = t.capture(vault, 'put', vault.put)
  for (let i = 0; i < 50; i++) {
    for (const one of [after, other, before]) if (one !== before || i === 0) t.equal(await tokenOf(one, 'user 0'), 'token 0')
    await Promise.all([after.resealing.close(), other.resealing.close()])
  }
  t.ok(puts().length <= 2, 'each has tried once')
  advance(t, 60_000)
  await tokenOf(after, 'user 0')
  await after.resealing.close()
  t.strictSame(await keysOf(vault, after), new Set([idOf(newKey)]), 'and tries again later')
})

t.test('of 10,000 places it is remembered when they were tried, and of no more', async t => {
  const { vault, after } = await startOld(0)
  const tries = t.capture(vault, 'get', async () => null)
  for (let i = 0; i <= 10_000; i++) {
    after.resealing.lazily(String(i), '')
    if (i % 20 === 19) await after.resealing.close()
  }
  await after.resealing.close()
  t.equal(tries().length, 10_001)
  for (const i of [0, 2]) after.resealing.lazily(String(i), '')
  await after.resealing.close()
  t.strictSame(tries().map(({ args }) => args[0]), ['0'], 'the oldest one is forgotten')
})

t.test('what is read is sealed anew for some users at a time', async t => {
  const { vault, after } = await startOld(50)
  let waiting = 0
  t.intercept(vault, 'put', { value: async () => { waiting++; return await new Promise<never>(() => {}) } })
  for (let i = 0; i < 50; i++) t.equal(await tokenOf(after, `user ${i}`), `token ${i}`)
  t.equal(waiting, 20)
})

t.test('a vault that fails while it is sealed anew fails no call', async t => {
  const { vault, after } = await startOld(2)
  t.intercept(vault, 'put', { value: async () => { throw new Error('down') } })
  t.equal(await tokenOf(after, 'user 0'), 'token 0')
  await after.resealing.close()
  t.match(after.warnings, [[{ err: { message: 'down' } }, /tried again/]])
  for (const i of [0, 1]) t.equal(await tokenOf(after, `user ${i}`), `token ${i}`)
  await after.resealing.close()
  t.equal(after.warnings.length, 1, 'it is left alone for a while')
  await t.rejects(after.resealing.all(), { message: 'down' }, 'but the command does not wait')
  advance(t, 60_000)
  t.equal(await tokenOf(after, 'user 0'), 'token 0')
  await after.resealing.close()
  t.equal(after.warnings.length, 2)
})

t.test('a vault that hangs while it is sealed anew does not keep the application from closing', async t => {
  const { vault, after } = await startOld(1)
  const paused = pause(t, vault, 'put')
  t.equal(await tokenOf(after, 'user 0'), 'token 0')
  await paused.reached
  const begun = performance.now()
  await after.resealing.close()
  t.ok(performance.now() - begun < 30_000)
  t.strictSame(await keysOf(vault, after), new Set([idOf(oldKey)]))
  paused.resume()
})

t.test('VLT-10 VLT-11 what cannot be opened is kept, and reported by the id of its key', async t => {
  const { vault, after } = await startOld(2)
  const lost = randomBytes(32)
  const foreign = process(vault, lost)
  await connect(foreign, 'user 0', 'another', 'other')
  const { entries } = await vault.list({ limit: 10 })
  const rows = async (): Promise<unknown[]> => await Promise.all(entries.map(({ owner, name }) => vault.get(owner, name)))
  const { owner, name } = entries.find(({ owner }) => owner === hashPrincipal(user('user 1')))!
  const { value, revision } = (await vault.get(owner, name))!
  await vault.put(owner, name, value.replace(/^1\.[^.]+/, '1.nonsense'), revision)
  const before = await rows()
  const report = { entries: 3, current: 0, resealed: 1, unreadable: { 'of another form': 1, [idOf(lost)]: 1 } }
  t.strictSame(await after.resealing.all({ dryRun: true }), report)
  t.strictSame(await after.resealing.all(), report)
  const changed = (await rows()).filter((row, i) => JSON.stringify(row) !== JSON.stringify(before[i]))
  t.equal(changed.length, 1, 'only what could be opened was written')
  t.equal(await tokenOf(process(vault, newKey), 'user 0'), 'token 0')
})

t.test('VLT-02 VLT-03 VLT-04 a grant that was moved to another place is not sealed anew there', async t => {
  const { vault, after } = await startOld(2)
  const { entries } = await vault.list({ limit: 10 })
  const [a, b] = entries as [typeof entries[0], typeof entries[0]]
  const [rowA, rowB] = [(await vault.get(a.owner, a.name))!, (await vault.get(b.owner, b.name))!]
  await vault.put(b.owner, b.name, rowA.value, rowB.revision)
  t.match(await after.resealing.all(), { entries: 2, resealed: 1, unreadable: { [idOf(oldKey)]: 1 } })
  t.equal((await vault.get(b.owner, b.name))?.value, rowA.value)
})

for (const answered of [false, true]) {
  t.test(`VLT-17 a grant that is written while it is sealed anew is not lost (${answered ? 'after' : 'before'} it was read)`, async t => {
    const { vault, after } = await startOld(1)
    const paused = pause(t, vault, 'get', { answered })
    const resealed = after.resealing.all()
    await paused.reached
    await connect(after, 'user 0', 'renewed')
    paused.resume()
    t.match(await resealed, { entries: 1, current: 1, resealed: 0 })
    t.equal(await tokenOf(after, 'user 0'), 'renewed')
  })
}

t.test('VLT-17 a grant that is deleted while it is sealed anew stays deleted', async t => {
  const { vault, after } = await startOld(1)
  const paused = pause(t, vault, 'get', { answered: true })
  const resealed = after.resealing.all()
  await paused.reached
  t.equal(await after.connections.remove(user('user 0'), 'acme') !== null, true)
  paused.resume()
  t.strictSame(await resealed, { entries: 0, current: 0, resealed: 0, unreadable: {} })
  t.strictSame((await vault.list({ limit: 1 })).entries, [])
})

t.test('a grant is taken back by its id, also when it was sealed anew meanwhile, and no other one is', async t => {
  const { vault, before, after } = await startOld(0)
  const id = await connect(before, 'a', 'first')
  await after.resealing.all()
  t.equal(await process(vault, newKey).connections.remove(user('a'), 'acme', 'another id'), null)
  t.match(await after.connections.remove(user('a'), 'acme', id), [{ id }])
  await connect(after, 'a', 'second')
  t.equal(await after.connections.remove(user('a'), 'acme', id), null)
  t.equal(await tokenOf(after, 'a'), 'second')
})

t.test('VLT-09 resealing under load: no call fails, no grant is lost', async t => {
  const { vault, after } = await startOld(200)
  const done = new AbortController()
  const load = async (t: Test, worker: number): Promise<number> => {
    let calls = 0
    for (let i = worker; !done.signal.aborted; i = (i + 7) % 200, calls++) {
      if (calls % 5 === 0) await connect(after, `user ${i}`, `token ${i}`)
      else if (await tokenOf(after, `user ${i}`) !== `token ${i}`) t.fail(`user ${i} was lost`)
      await new Promise(resolve => setImmediate(resolve))
    }
    return calls
  }
  const workers = Array.from({ length: 10 }, (_, worker) => load(t, worker))
  const report = await after.resealing.all()
  done.abort()
  const calls = (await Promise.all(workers)).reduce((a, b) => a + b)
  await after.resealing.close()
  t.ok(calls > 100, `${calls} calls`)
  t.equal(report.entries, 200)
  t.strictSame(await keysOf(vault, after), new Set([idOf(newKey)]))
  t.strictSame(after.warnings, [])
})

t.test('a list that does not come to an end is refused', async t => {
  const { vault, after } = await startOld(3)
  const page = await vault.list({ limit: 1 })
  t.intercept(vault, 'list', { value: async () => page })
  await t.rejects(after.resealing.all(), { code: 'FST_MCP_CONNECT_ADAPTER_INVALID', message: /another cursor/ })
})
