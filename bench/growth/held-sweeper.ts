import { setImmediate } from 'node:timers/promises'
import { BREATH_MS, INTERVAL_MS } from '../../lib/stores/sweeper.js'
import { HOUR_MS } from './records.js'
import type { Storage } from './storage.js'

const FOREVER_MS = 2 ** 31 - 1

export interface HeldSweeper {
  /** Removes all that has expired. @returns how long each slice took, in milliseconds; the breaths between them are left out */
  sweep (): Promise<number[]>
}

/** Takes the timers away from the sweeper of a store that nobody has written to yet, so that it works when it is told to. */
export async function holdSweeperOf ({ store: { state } }: Storage): Promise<HeldSweeper> {
  const { setTimeout } = globalThis
  let held: { readonly run: () => void, readonly ms: number } | undefined
  let scheduled = (): void => {}

  function hold (): void {
    globalThis.setTimeout = ((run: () => void, ms: number) => {
      if (ms !== INTERVAL_MS && ms !== BREATH_MS) return setTimeout(run, ms)
      held = { run, ms }
      scheduled()
      return setTimeout(() => {}, FOREVER_MS)
    }) as typeof setTimeout
  }
  function letGo (): void {
    globalThis.setTimeout = setTimeout
  }

  hold()
  const written = state.put('first write', '', null, HOUR_MS)
  letGo()
  await written
  if (held === undefined) throw new Error('no sweeper was held')

  return {
    async sweep () {
      const slices: number[] = []
      hold()
      try {
        do {
          const next = new Promise<void>(resolve => { scheduled = resolve })
          const begun = performance.now()
          held!.run()
          await next
          slices.push(performance.now() - begun)
          await setImmediate()
        } while (held!.ms !== INTERVAL_MS)
      } finally {
        letGo()
      }
      return slices
    }
  }
}
