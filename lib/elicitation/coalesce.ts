/**
 * Runs one piece of work per key at a time. Calls that come while it runs are merged into one next run, and share its
 * result: a thousand calls cost two runs. The work must end by itself: it holds up what comes after it.
 */
export function coalesce<W, R> (merge: (a: W, b: W) => W, run: (key: string, wanted: W) => Promise<R>): (key: string, wanted: W) => Promise<R> {
  const running = new Map<string, Promise<R>>()
  const next = new Map<string, { wanted: W, result: Promise<R> }>()

  function start (key: string, wanted: W): Promise<R> {
    const result = run(key, wanted).finally(() => running.delete(key))
    running.set(key, result)
    return result
  }

  return (key, wanted) => {
    const waiting = next.get(key)
    if (waiting !== undefined) {
      waiting.wanted = merge(waiting.wanted, wanted)
      return waiting.result
    }
    const current = running.get(key)
    if (current === undefined) return start(key, wanted)
    const entry: { wanted: W, result: Promise<R> } = {
      wanted,
      result: current.catch(() => {}).then((): Promise<R> => {
        next.delete(key)
        return start(key, entry.wanted)
      })
    }
    next.set(key, entry)
    return entry.result
  }
}
