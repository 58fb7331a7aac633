import type { Store } from '../../lib/index.js'

/** One storage of a store, with what a bulk fill needs to go around it. */
export interface Storage {
  readonly store: Store
  /** Adds live records, numbered from 0. */
  fillState (count: number): Promise<void>
  /** Adds grants, numbered from 0. */
  fillVault (count: number): Promise<void>
  /** Adds records of the kind `gone`, that have expired. */
  addExpired (count: number): Promise<void>
  /** How many records there are, expired or not, as far as the storage can tell. */
  countState (): Promise<number>
  /** How much room everything takes. */
  bytes (): Promise<number>
  /** Makes it as it is after a while in service. */
  settle (): Promise<void>
  close (): Promise<void>
}

/** Fills one after another, in batches between which the event loop gets on. */
export async function inBatches (count: number, size: number, put: (i: number) => Promise<unknown>, between: () => Promise<unknown>): Promise<void> {
  for (let i = 0; i < count;) {
    for (const end = Math.min(count, i + size); i < end; i++) await put(i)
    await between()
  }
}
