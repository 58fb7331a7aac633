/*
 * What happens between a store and its server: answers that are lost, locks, a stricter isolation, options of the client.
 */
import { Redis } from 'ioredis'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { migratePostgres, postgresStore, redisStore } from '../../lib/index.js'
import { vaultContract } from '../../lib/testing/index.js'
import { createStorage, lastingKinds, openPool, openSqlite, type StorageSpec } from '../fixtures/stores.js'

const kinds = await lastingKinds(t)

/** Stands before Redis, and can lose an answer: the connection ends once Redis has carried out the next script. */
async function startLossyRedis (t: Test, url: string): Promise<{ port: number, loseNextAnswer (): void }> {
  const { hostname, port } = new URL(url)
  let losing = false
  const server = createServer(client => {
    const redis = connect(Number(port), hostname)
    let lost = false
    client.on('data', data => {
      lost = losing && data.includes('eval')
      if (lost) losing = false
      redis.write(data)
    })
    redis.on('data', data => {
      if (lost) client.destroy()
      else client.write(data)
    })
    const end = (one: Socket, other: Socket): unknown => one.on('error', () => {}).on('close', () => other.destroy())
    end(client, redis)
    end(redis, client)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => { server.close() })
  return { port: (server.address() as AddressInfo).port, loseNextAnswer: () => { losing = true } }
}

if (kinds.includes('redis')) {
  const redisSpec = async (t: Test): Promise<StorageSpec & { kind: 'redis' }> => (await createStorage(t, 'redis')).spec as StorageSpec & { kind: 'redis' }

  t.test('Redis: a write whose answer was lost, and that is sent again, has won', async t => {
    const { url, prefix } = await redisSpec(t)
    const lossy = await startLossyRedis(t, url)
    const client = new Redis(lossy.port, '127.0.0.1').on('error', () => {})
    t.teardown(() => client.disconnect())
    const { vault, state } = redisStore(client, { prefix })
    await client.ping()
    for (const entry of [
      { get: () => state.get('key'), put: (value: string, expected: string | null) => state.put('key', value, expected, 60_000) },
      { get: () => vault.get('00', '11'), put: (value: string, expected: string | null) => vault.put('00', '11', value, expected) }
    ]) {
      lossy.loseNextAnswer()
      const first = await entry.put('first', null)
      t.strictSame(await entry.get(), { value: 'first', revision: first })
      lossy.loseNextAnswer()
      const second = await entry.put('second', first)
      t.strictSame(await entry.get(), { value: 'second', revision: second })
      t.equal(await entry.put('late', first), null)
    }
  })

  t.test('Redis: a client that neither queues nor subscribes again can be used', async t => {
    const { url, prefix } = await redisSpec(t)
    const client = new Redis(url, { enableOfflineQueue: false, autoResubscribe: false })
    t.teardown(() => client.disconnect())
    await new Promise(resolve => client.once('ready', resolve))
    const store = redisStore(client, { prefix })
    const heard = new Promise<string>(resolve => { store.bus.subscribe(resolve).then(() => store.bus.publish('message'), t.threw) })
    t.equal(await heard, 'message')
    await store.close()
  })
}

t.test('SQLite: while another process writes, the event loop goes on', async t => {
  const storage = await createStorage(t, 'sqlite')
  const { state } = await storage.open()
  const other = openSqlite((storage.spec as StorageSpec & { kind: 'sqlite' }).path)
  t.teardown(() => other.close())
  other.exec('BEGIN IMMEDIATE')
  const puts = ['a', 'b'].map(async key => await state.put(key, 'value', null, 60_000))
  await setImmediate()     // were the event loop held up until the time-out, the lock would be let go too late
  other.exec('COMMIT')
  for (const put of await Promise.all(puts)) t.type(put, 'string')
})

if (kinds.includes('postgres')) {
  for (const isolation of ['repeatable read', 'serializable']) {
    t.test(`PostgreSQL: with default_transaction_isolation of ${isolation}, a lost race is no error`, async t => {
      const storage = await createStorage(t, 'postgres')
      const { schema } = storage.spec as StorageSpec & { kind: 'postgres' }
      const pool = openPool(`${schema} -c default_transaction_isolation=${isolation.replace(' ', '\\ ')}`)
      t.teardown(() => pool.end())
      t.strictSame((await pool.query('SHOW transaction_isolation')).rows, [{ transaction_isolation: isolation }])
      await Promise.all(Array.from({ length: 8 }, () => migratePostgres(pool)))
      const store = postgresStore(pool)
      for (const { name, run } of vaultContract.filter(({ name }) => /at once|one wins|write until/.test(name))) await t.test(name, async () => await run(() => store.vault))
      await store.close()
    })
  }
}
