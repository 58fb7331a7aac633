import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { redisStore, type Store } from '../../lib/index.js'
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
    // Tests run at once on one Redis: the name tells this connection from theirs.
    const name = `mcp-connect-test-${randomBytes(6).toString('hex')}`
    const [client, admin] = [openRedis(undefined, { connectionName: name }), openRedis()]
    const store = redisStore(client, { prefix: `${name}:` })
    t.teardown(async () => {
      await store.close()
      for (const one of [client, admin]) one.disconnect()
    })
    const heard: string[] = []
    await store.bus.subscribe(message => heard.push(message))
    const list = await admin.client('LIST', 'TYPE', 'PUBSUB') as string
    const [id, ...others] = list.split('\n').filter(line => line.includes(` name=${name} `)).map(line => /^id=(\d+)/.exec(line)![1]!)
    t.strictSame(others, [])
    t.equal(await admin.client('KILL', 'ID', id!), 1)
    await hearsAgain(t, store, heard)
  })
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
