import t, { type Test } from 'tap'
import type { Store } from '../../lib/index.js'
import { createStorage, lastingKinds, openPool, openRedis } from '../fixtures/stores.js'

const kinds = await lastingKinds(t)

/** Publishes until somebody hears it: what is published while nobody listens is lost, as a bus may. */
async function hearsAgain (t: Test, { bus }: Store, heard: readonly string[]): Promise<void> {
  const before = heard.length
  const deadline = Date.now() + 15_000
  while (heard.length === before && Date.now() < deadline) {
    await bus.publish('after').catch(() => {})
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  t.ok(heard.length > before, 'messages are heard again')
}

if (kinds.includes('redis')) {
  t.test('Redis: a subscription that is cut off comes back by itself', async t => {
    const store = await (await createStorage(t, 'redis')).open()
    const admin = openRedis()
    t.teardown(() => admin.disconnect())
    const heard: string[] = []
    const earlier = new Set(idsOf(await admin.client('LIST', 'TYPE', 'PUBSUB') as string))
    await store.bus.subscribe(message => heard.push(message))
    const ids = idsOf(await admin.client('LIST', 'TYPE', 'PUBSUB') as string).filter(id => !earlier.has(id))
    t.ok(ids.length > 0)
    for (const id of ids) await admin.client('KILL', 'ID', id)
    await hearsAgain(t, store, heard)
  })
}

function idsOf (list: string): string[] {
  return [...list.matchAll(/^id=(\d+)/gm)].map(([, id = '']) => id)
}

if (kinds.includes('postgres')) {
  t.test('PostgreSQL: a subscription that is cut off comes back by itself, and ends when it is told to', async t => {
    const storage = await createStorage(t, 'postgres')
    const store = await storage.open()
    const admin = openPool('public')
    t.teardown(() => admin.end())
    const heard: string[] = []
    const end = await store.bus.subscribe(message => heard.push(message))
    const { rows: [{ channel }] } = await admin.query("SELECT 'mcp_connect_' || md5($1) AS channel", [(storage.spec as { schema: string }).schema])
    const listening = async (): Promise<number[]> =>
      (await admin.query('SELECT pid FROM pg_stat_activity WHERE query = $1', [`LISTEN ${channel}`])).rows.map(({ pid }) => pid)
    const [pid, ...others] = await listening()
    t.strictSame(others, [])
    await admin.query('SELECT pg_terminate_backend($1)', [pid])
    await hearsAgain(t, store, heard)
    t.not((await listening())[0], pid)
    await end()
    for (let left = await listening(), i = 0; left.length > 0 && i < 500; i++) left = await listening()
    t.strictSame(await listening(), [], 'the connection is given up')
  })
}
