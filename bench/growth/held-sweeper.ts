import { setImmediate } from 'node:timers/promises'

/** The delays of lib/stores/sweeper.ts. */
const DELAYS_MS = [30_000, 50]
const FOREVER_MS = 2 ** 31 - 1

export interface HeldSweeper {
  /** Removes all that has expired. @returns how long each slice took, in milliseconds; the breaths between them are left out */
  sweep (): Promise<number[]>
}

/**
 * Takes the timers away from the sweeper of a store, so that it works when it is told to.
 * @param start makes the first write to the store
 */
export async function holdSweeper (start: () => Promise<unknown>): Promise<HeldSweeper> {
  const { setTimeout } = globalThis
  let held: { readonly run: () => void, readonly ms: number } | undefined
  let scheduled = (): void => {}

  function hold (): void {
    globalThis.setTimeout = ((run: () => void, ms: number) => {
      if (!DELAYS_MS.includes(ms)) return setTimeout(run, ms)
      held = { run, ms }
      scheduled()
      return setTimeout(() => {}, FOREVER_MS)
    }) as typeof setTimeout
  }
  function letGo (): void {
    globalThis.setTimeout = setTimeout
  }

  hold()
  const started = start()
  letGo()
  await started

  return {
    async sweep () {
      const slices: number[] = []
      if (held === undefined) return slices
      hold()
      try {
        do {
          const next = new Promise<void>(resolve => { scheduled = resolve })
          const begun = performance.now()
          held.run()
          await next
          slices.push(performance.now() - begun)
          await setImmediate()
        } while (held.ms !== DELAYS_MS[0])
      } finally {
        letGo()
      }
      return slices
    }
  }
}
