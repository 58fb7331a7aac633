import { setImmediate, setTimeout } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { memoryStore } from '../../lib/index.js'
import { HOUR_MS, nameOf, ownerOf, randomValue, STATE_LENGTH, stateKey, VAULT_LENGTH } from './records.js'
import { inBatches, type Storage } from './storage.js'

const BATCH = 10

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

export async function openMemory (): Promise<Storage> {
  const store = memoryStore()
  const puts = (kind: string, ttlMs: number) => (i: number) => store.state.put(stateKey(kind, i), randomValue(STATE_LENGTH), null, ttlMs)
  return {
    store,
    fillState: count => inBatches(count, BATCH, puts('live', HOUR_MS), setImmediate),
    fillVault: count => inBatches(count, BATCH, i => store.vault.put(ownerOf(i), nameOf(i), randomValue(VAULT_LENGTH), null), setImmediate),
    async addExpired (count) {
      await inBatches(count, BATCH, puts('gone', 1), setImmediate)
      await setTimeout(5)
    },
    countState: async () => NaN,
    async bytes () {
      collectGarbage()
      const { heapUsed, external } = process.memoryUsage()
      return heapUsed + external
    },
    settle: async () => {},
    close: () => store.close()
  }
}
