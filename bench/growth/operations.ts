import { setImmediate, setTimeout } from 'node:timers/promises'
import { HOUR_MS, nameOf, ownerOf, randomValue, STATE_LENGTH, stateKey, VAULT_LENGTH } from './records.js'
import type { Storage } from './storage.js'

export interface Filled {
  readonly storage: Storage
  readonly size: number
}

/** Microseconds of one call, by operation. */
export type Times = Map<string, number[]>

const ROUNDS = 60
const BATCH = 20
const PAGE = 100

/** Measures on all that are given, in turns. */
export async function measureOperations (filled: readonly Filled[]): Promise<Times[]> {
  const times = filled.map((): Times => new Map())
  for (let round = 0; round < ROUNDS; round++) {
    for (const [i, one] of filled.entries()) await measureRound(one, round, times[i]!)
  }
  return times
}

async function measureRound ({ storage: { store: { state, vault } }, size }: Filled, round: number, times: Times): Promise<void> {
  const numbers = Array.from({ length: BATCH }, (_, i) => round * BATCH + i)

  /** Calls one after another. What they need is made before, so that it is not measured. */
  async function measure<T> (operation: string, prepare: (i: number) => T | Promise<T>, call: (prepared: T) => Promise<unknown>): Promise<unknown[]> {
    const prepared: T[] = []
    for (const i of numbers) prepared.push(await prepare(i))
    const results: unknown[] = []
    let total = 0
    for (const one of prepared) {
      await setImmediate()
      const begun = performance.now()
      const result = await call(one)
      total += performance.now() - begun
      if (result === null || result === false) throw new Error(`${operation} did not do what it should`)
      results.push(result)
    }
    const all = times.get(operation) ?? []
    all.push(total / BATCH * 1000)
    times.set(operation, all)
    return results
  }
  /** Never the same twice in a batch. */
  const random = (i: number): number => Math.floor((i % BATCH + Math.random()) / BATCH * size)
  const live = (i: number): string => stateKey('live', random(i))
  const stateValue = randomValue(STATE_LENGTH)
  const vaultValue = randomValue(VAULT_LENGTH)

  const records = await measure('state create', i => stateKey('new', i), key => state.put(key, stateValue, null, HOUR_MS))
  await measure('state find', live, key => state.get(key))
  await measure('state replace', async i => {
    const key = live(i)
    return { key, revision: (await state.get(key))!.revision }
  }, ({ key, revision }) => state.put(key, stateValue, revision, HOUR_MS))
  await measure('state delete', i => ({ key: stateKey('new', i), revision: records[i % BATCH] as string }), ({ key, revision }) => state.delete(key, revision))

  for (const i of numbers) await state.put(stateKey('short', i), stateValue, null, 1)
  await setTimeout(5)
  const over = await measure('state create over an expired one', i => stateKey('short', i), key => state.put(key, stateValue, null, HOUR_MS))
  for (const i of numbers) await state.delete(stateKey('short', i), over[i % BATCH] as string)

  const place = (i: number): { owner: string, name: string } => ({ owner: ownerOf(i), name: nameOf(i) })
  const made = (i: number): { owner: string, name: string } => place(-1 - i)
  const grants = await measure('vault create', made, ({ owner, name }) => vault.put(owner, name, vaultValue, null))
  await measure('vault find', i => place(random(i)), ({ owner, name }) => vault.get(owner, name))
  await measure('vault list, a page of 100', i => place(random(i)), ({ owner, name }) => vault.list({ cursor: `${owner}.${name}`, limit: PAGE }))
  await measure('vault list, one owner', i => ownerOf(random(i)), owner => vault.list({ owner, limit: PAGE }))
  await measure('vault delete', i => ({ ...made(i), revision: grants[i % BATCH] as string }), ({ owner, name, revision }) => vault.delete(owner, name, revision))
}

export function median (values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN
}
