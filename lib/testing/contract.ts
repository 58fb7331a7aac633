import { AssertionError } from 'node:assert'
import { randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { inspect } from 'node:util'

/** One promise of an interface, that can be tried on an adapter. It needs no test runner and no empty storage; it leaves some entries. */
export interface ContractCase<T> {
  readonly name: string
  /**
   * Tries it, within some seconds.
   * @param create gives an adapter; it is called more than once, and all that it gives share one storage
   * @throws AssertionError that says what is wrong
   */
  run (create: () => T | Promise<T>): Promise<void>
}

/** @param check is given two adapters over one storage, such as two processes have */
export function contractCase<T> (name: string, check: (one: T, other: T) => Promise<void>): ContractCase<T> {
  return {
    name,
    async run (create) {
      try {
        await check(await create(), await create())
      } catch (cause) {
        if (cause instanceof AssertionError) throw cause
        throw Object.assign(new AssertionError({ message: `the adapter threw (a lost race or a missing entry is a value, no error): ${String(cause)}` }), { cause })
      }
    }
  }
}

const PATIENCE_MS = 10_000
const PAUSE_MS = 10

/** Waits for something that must happen by itself. */
export async function eventually (what: string, happened: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS
  while (!await happened()) {
    if (Date.now() > deadline) throw new AssertionError({ message: `within ${PATIENCE_MS} ms, ${what}` })
    await setTimeout(PAUSE_MS)
  }
}

/** 64 hexadecimal digits. */
export function randomHash (): string {
  return randomBytes(32).toString('hex')
}

/** Calls at once, in turn on each of the adapters. */
export async function atOnce<T, R> (count: number, adapters: readonly T[], call: (adapter: T, i: number) => Promise<R>): Promise<R[]> {
  return await Promise.all(Array.from({ length: count }, (_, i) => call(adapters[i % adapters.length]!, i)))
}

/** What was found, for a message. */
export function show (value: unknown): string {
  return inspect(value, { maxStringLength: 80, maxArrayLength: 5, breakLength: Infinity })
}
