const STALE_MS = 10_000

/**
 * Runs one piece of work per key at a time. Calls that come while it runs are merged into one next run, and share its
 * result: a thousand calls cost two runs.
 */
export function coalesce<W, R> (merge: (a: W, b: W) => W, run: (key: string, wanted: W) => Promise<R>): (key: string, wanted: W) => Promise<R> {
  const running = new Map<string, { readonly result: Promise<unknown>, readonly startedAt: number }>()
  const next = new Map<string, { wanted: W, result: Promise<R> }>()

  function start (key: string, work: () => Promise<R>): Promise<R> {
    const result = work().finally(() => {
      if (running.get(key)?.result === result) running.delete(key)
    })
    running.set(key, { result, startedAt: Date.now() })
    return result
  }

  return (key, wanted) => {
    const current = running.get(key)
    // Work that hangs must not take later calls with it.
    if (current === undefined || current.startedAt + STALE_MS <= Date.now()) {
      next.delete(key)
      return start(key, () => run(key, wanted))
    }
    const waiting = next.get(key)
    if (waiting !== undefined) {
      waiting.wanted = merge(waiting.wanted, wanted)
      return waiting.result
    }
    const entry: { wanted: W, result: Promise<R> } = {
      wanted,
      result: current.result.catch(() => {}).then((): Promise<R> => {
        if (next.get(key) === entry) next.delete(key)
        return start(key, () => run(key, entry.wanted))
      })
    }
    next.set(key, entry)
    return entry.result
  }
}
