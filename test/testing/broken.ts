import { AssertionError } from 'node:assert'
import { setImmediate } from 'node:timers/promises'
import type { Test } from 'tap'
import { memoryStore, type Store } from '../../lib/index.js'
import type { ContractCase } from '../../lib/testing/index.js'

/** Makes new storage; what it returns opens it, as a process does. */
export type Broken<T> = () => () => T
/** By the case that must catch them, and by what is wrong with them. */
export type BrokenByCase<T> = Readonly<Record<string, Readonly<Record<string, Broken<T>>>>>

/** An adapter over the memory store in which some methods are others. */
export function broken<P extends 'vault' | 'state' | 'bus'> (part: P, faults: (good: Store[P]) => Partial<Store[P]>): Broken<Store[P]> {
  return () => {
    const good = memoryStore()[part]
    const adapter = { ...good, ...faults(good) }
    return () => adapter
  }
}

/** Long enough for all that was called at once to come as far as here. */
export async function pause (): Promise<void> {
  await setImmediate()
}

async function outcome<T> (run: ContractCase<T>['run'], open: () => T): Promise<unknown> {
  return await run(open).then(() => 'it is not refused', error => error)
}

/**
 * One case after the other where it is about many calls, which must not hold up what is about time; the others at once, since
 * the contract waits for what never happens as long as it has patience.
 */
export async function assertCaught<T> (t: Test, contract: ReadonlyArray<ContractCase<T>>, good: Broken<T>, table: BrokenByCase<T>): Promise<void> {
  t.strictSame(Object.keys(table).sort(), contract.map(({ name }) => name).sort(), 'each case has broken adapters')
  const check = async ({ name, run }: ContractCase<T>): Promise<void> => {
    const faults = Object.entries(table[name] ?? {})
    const [accepted, ...refused] = await Promise.all([good, ...faults.map(([, broken]) => broken)].map(async make => await outcome(run, make())))
    t.equal(accepted, 'it is not refused', `${name}: the good one`)
    t.ok(faults.length > 0, `${name}: there is a broken one`)
    for (const [i, [fault]] of faults.entries()) {
      const error = refused[i]
      const sentence = error instanceof AssertionError && !error.generatedMessage && /^\S+( \S+){4,}/.test(error.message)
      t.ok(sentence, `${name}: ${fault}`, { found: error })
      if (process.env['SHOW'] !== undefined) console.error(`${name}: ${fault}\n    ${String(error)}`)
    }
  }
  const isBusy = ({ name }: ContractCase<T>): boolean => /\b(1,000|50|values|keys|count)\b/.test(name)
  for (const one of contract.filter(isBusy)) await check(one)
  await Promise.all(contract.filter(one => !isBusy(one)).map(check))
}
