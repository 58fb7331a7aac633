import { randomBytes } from 'node:crypto'
import { redisStore } from '../../lib/index.js'
import { openRedis } from '../../test/fixtures/stores.js'
import { HOUR_MS, nameOf, ownerOf, randomValue, STATE_LENGTH, stateKey, VAULT_LENGTH } from './records.js'
import { inBatches, type Storage } from './storage.js'

const IN_FLIGHT = 300

/** Under a prefix of its own, in a database that nothing else uses: its number of keys tells how many have been removed. */
export async function openRedisPrefix (): Promise<Storage> {
  const url = new URL(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379')
  url.pathname = '/15'
  const client = openRedis(url.href)
  const prefix = `mcp_connect_bench_${randomBytes(6).toString('hex')}:`
  const store = redisStore(client, { prefix })

  async function fill (count: number, put: (i: number) => Promise<unknown>): Promise<void> {
    let calls: Array<Promise<unknown>> = []
    await inBatches(count, IN_FLIGHT, async i => { calls.push(put(i)) }, async () => {
      await Promise.all(calls)
      calls = []
    })
  }
  const puts = (kind: string, ttlMs: number) => (i: number) => store.state.put(stateKey(kind, i), randomValue(STATE_LENGTH), null, ttlMs)

  return {
    store,
    fillState: count => fill(count, puts('live', HOUR_MS)),
    fillVault: count => fill(count, i => store.vault.put(ownerOf(i), nameOf(i), randomValue(VAULT_LENGTH), null)),
    addExpired: count => fill(count, puts('gone', 1)),
    countState: () => client.dbsize(),
    bytes: async () => Number(/used_memory:(\d+)/.exec(await client.info('memory'))?.[1]),
    settle: async () => {},
    async close () {
      await store.close()
      for await (const keys of client.scanStream({ match: `${prefix}*`, count: 1000 })) {
        if (keys.length > 0) await client.unlink(...keys as string[])
      }
      client.disconnect()
    }
  }
}
