export interface Sweeper {
  /** Begins, at the first write: a store that is not used has no timer. */
  start (): void
  close (): void
}

export const INTERVAL_MS = 30_000
export const BREATH_MS = 50

/**
 * Removes what has expired, a slice at a time, so that neither the event loop nor the database is held up. It keeps no
 * process alive.
 * @param sweep removes one slice. @returns whether there may be more
 */
export function createSweeper (sweep: () => Promise<boolean>): Sweeper {
  let timer: NodeJS.Timeout | undefined
  let closed = false

  function schedule (ms: number): void {
    if (!closed) timer = setTimeout(run, ms).unref()
  }

  function run (): void {
    // What fails now is tried again later; a store that is down says so by all its other calls.
    sweep().catch(() => false).then(more => schedule(more ? BREATH_MS : INTERVAL_MS))
  }

  return {
    start () {
      if (timer === undefined) schedule(INTERVAL_MS)
    },
    close () {
      closed = true
      clearTimeout(timer)
    }
  }
}
