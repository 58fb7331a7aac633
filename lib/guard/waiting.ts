/** How often a client that asked for progress hears that its call is alive. */
const PROGRESS_INTERVAL_MS = 10_000

/**
 * Waits until something is over, but no longer than `waitMs`, and no longer than nobody of the signals is aborted. Leaves neither a
 * timer nor a listener behind.
 * @param progress is told so many seconds later that it goes on; may fail
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
