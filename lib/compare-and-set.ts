import { StoreContentionError } from './errors.js'

const ATTEMPTS = 20

/** What a step gives when somebody else was quicker. */
export const LOST = Symbol('lost the race')

/**
 * Repeats a step that reads, then writes by compare-and-set, until it has won.
 * @throws FST_MCP_CONNECT_STORE_CONTENTION after 20 lost races
 */
export async function untilWon<T> (step: () => Promise<T | typeof LOST>): Promise<T> {
  for (let i = 0; i < ATTEMPTS; i++) {
    const result = await step()
    if (result !== LOST) return result
  }
  throw new StoreContentionError()
}
