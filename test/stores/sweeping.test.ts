import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { BREATH_MS, createSweeper, INTERVAL_MS } from '../../lib/stores/sweeper.js'
import { createStorage, lastingKinds, openPool, openSqlite, type StorageSpec } from '../fixtures/stores.js'

interface Timer {
  readonly ms: number
  run (): void
}

/** The timers of sweepers go off when the test says so; others as they are. */
function captureSweeper (t: Test): Timer[] {
  const timers: Timer[] = []
  const { setTimeout } = globalThis
  t.intercept(globalThis, 'setTimeout', {
    value: (run: () => void, ms: number) => {
      if (ms !== INTERVAL_MS && ms !== BREATH_MS) return setTimeout(run, ms)
      timers.push({ run, ms })
      return setTimeout(() => {}, 0)
    }
  })
  return timers
}

/** The keys of what is kept for a time. */
async function keysOf (spec: StorageSpec): Promise<string[]> {
  const sql = 'SELECT key FROM mcp_connect_state UNION ALL SELECT key FROM mcp_connect_counts ORDER BY key'
  if (spec.kind === 'sqlite') {
    const db = openSqlite(spec.path)
    const rows = db.prepare(sql).all() as Array<{ key: string }>
    db.close()
    return rows.map(({ key }) => key)
  }
  const pool = openPool((spec as StorageSpec & { kind: 'postgres' }).schema)
  const { rows } = await pool.query<{ key: string }>(sql)
  await pool.end()
  return rows.map(({ key }) => key)
}

async function until (happened: () => boolean): Promise<void> {
  while (!happened()) await setTimeout(5)
}

t.test('a sweep that fails is tried again later', async t => {
  const timers = captureSweeper(t)
  const sweeper = createSweeper(async () => { throw new Error('down') })
  sweeper.start()
  timers.pop()!.run()
  await until(() => timers.length > 0)
  t.equal(timers[0]!.ms, INTERVAL_MS)
  sweeper.close()
})

/** More than two slices. */
const EXPIRING = { sqlite: 120, postgres: 2100 }

for (const kind of await lastingKinds(t)) {
  if (kind === 'redis') continue     // removes by itself what has expired
  t.test(`${kind}: what has expired is removed, in slices, and nothing else`, async t => {
    const timers = captureSweeper(t)
    const storage = await createStorage(t, kind)
    const store = await storage.open()
    t.equal(timers.length, 0, 'a store that is not used has no timer')
    await Promise.all(Array.from({ length: EXPIRING[kind] }, async (_, i) => await store.state.put(`expiring ${i}`, 'v', null, 1)))
    await store.state.count('expiring window', 1)
    await store.state.count('lasting window', 60_000)
    await store.state.put('lasting', 'v', null, 60_000)
    await store.state.put('forever', 'v', null)
    await setTimeout(5)
    t.equal(timers.length, 1)
    for (const ms of [BREATH_MS, BREATH_MS, INTERVAL_MS]) {
      timers.pop()!.run()
      await until(() => timers.length > 0)
      t.equal(timers[0]!.ms, ms)
    }
    t.strictSame(await keysOf(storage.spec), ['forever', 'lasting', 'lasting window'])

    timers.pop()!.run()
    await until(() => timers.length > 0)
    timers.pop()!.run()
    await store.close()
    await setTimeout(50)
    t.equal(timers.length, 0, 'a sweep that ends after the store was closed is the last one')
  })
}
