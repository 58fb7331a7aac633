import { setTimeout } from 'node:timers/promises'
import type { HeldSweeper } from './held-sweeper.js'
import { median, type Filled, type Times } from './operations.js'

export interface Expiry {
  /** Microseconds for each record that was removed. */
  readonly times: Times
  /** The longest slice, in milliseconds. */
  readonly longestSlice: number
}

const ROUNDS = 3
const DEADLINE_MS = 300_000
const CONTENT = 0.15

/** A tenth of the records expires, and is removed in slices. */
export async function measureSweeps (filled: ReadonlyArray<Filled & { readonly sweeper: HeldSweeper }>): Promise<Expiry[]> {
  const found = filled.map(() => ({ perRecord: [] as number[], slices: [] as number[] }))
  for (let round = 0; round < ROUNDS; round++) {
    for (const [i, { storage, size, sweeper }] of filled.entries()) {
      const count = size / 10
      await storage.addExpired(count)
      const before = await storage.countState()
      const slices = await sweeper.sweep()
      const removed = before - await storage.countState()
      if (removed !== count && !Number.isNaN(removed)) throw new Error(`${removed} of ${count} expired records were removed`)
      found[i]!.perRecord.push(slices.reduce((sum, ms) => sum + ms, 0) / count * 1000)
      found[i]!.slices.push(...slices)
    }
  }
  return found.map(({ perRecord, slices }) => ({
    times: new Map([['expire: removal, per record', [median(perRecord)]]]),
    longestSlice: slices.reduce((longest, ms) => Math.max(longest, ms), 0)
  }))
}

/**
 * How long Redis takes, in milliseconds, until of half as many expired records as live ones it has removed most. It is content when a tenth
 * of all keys with a lifetime has expired.
 */
export async function awaitRemoval ({ storage, size }: Filled): Promise<number> {
  const before = await storage.countState()
  const begun = performance.now()
  await storage.addExpired(size / 2)
  while (await storage.countState() > before + CONTENT * size) {
    if (performance.now() - begun > DEADLINE_MS) throw new Error('what has expired was not removed')
    await setTimeout(10)
  }
  return performance.now() - begun
}
