/** Waits for work, which may go on after that, or until a signal is aborted. @throws the reason of the signal */
export async function abortable<T> (work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return await work
  let stop = (): void => {}
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => { reject(signal.reason) }
    signal.addEventListener('abort', stop)
    if (signal.aborted) stop()
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
