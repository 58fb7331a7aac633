import { withTimeout } from './with-timeout.js'

/** Longer than any store should take for a few steps. */
const TIMEOUT_MS = 10_000

/**
 * Runs one piece of work per key at a time. Calls that come while it runs are merged into one next run, and share its
 * result: a thousand calls cost two runs. Work that hangs does not take later calls with it.
 * @throws FST_MCP_CONNECT_STORE_TIMEOUT when the work takes longer than `timeoutMs`
 */
export function coalesce<W, R> (merge: (a: W, b: W) => W, run: (key: string, wanted: W) => Promise<R>, timeoutMs = TIMEOUT_MS):
(key: string, wanted: W) => Promise<R> {
  const running = new Map<string, Promise<R>>()
  const next = new Map<string, { wanted: W, result: Promise<R> }>()

  function start (key: string, wanted: W): Promise<R> {
    const result = withTimeout(run(key, wanted), timeoutMs).finally(() => {
      if (running.get(key) === result) running.delete(key)
    })
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
