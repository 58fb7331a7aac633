/** How often a client that asked for progress hears that its call is alive. */
const PROGRESS_INTERVAL_MS = 10_000

/**
 * Waits until something is over, for `waitMs` at most, and only until one of the signals is aborted. Leaves neither a timer nor a
 * listener behind.
 * @param progress is called while it waits, with the seconds so far; may fail
 * @throws what `over` rejects with
 */
export async function waitFor (over: Promise<unknown>, waitMs: number, signals: readonly AbortSignal[], progress: ((seconds: number) => Promise<void>) | null): Promise<void> {
  let stop = (): void => {}
  const stopped = new Promise<void>(resolve => { stop = resolve })
  const timer = setTimeout(stop, waitMs)
  let seconds = 0
  const ticker = progress === null ? undefined : setInterval(() => { progress(seconds += PROGRESS_INTERVAL_MS / 1000).catch(() => {}) }, PROGRESS_INTERVAL_MS)
  for (const signal of signals) signal.addEventListener('abort', stop)
  if (signals.some(({ aborted }) => aborted)) stop()
  try {
    await Promise.race([over, stopped])
  } finally {
    clearTimeout(timer)
    clearInterval(ticker)
    for (const signal of signals) signal.removeEventListener('abort', stop)
  }
}
