import { StoreTimeoutError } from './errors.js'

/** Waits for work, which may go on after that. @throws FST_MCP_CONNECT_STORE_TIMEOUT */
export async function withTimeout<T> (work: Promise<T>, timeoutMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new StoreTimeoutError()), timeoutMs)
  })
  try {
    return await Promise.race([work, timeout])
  } finally {
    clearTimeout(timer)
  }
}
