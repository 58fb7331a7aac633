import { RateLimitedError } from '../errors.js'
import type { StateStore } from '../storage.js'
import type { LimitOption, Limits } from '../types.js'

/** Counts events of one kind in fixed windows, over all processes that share the store. Keys are hashes. */
export interface Limiter {
  /**
   * When the store fails, the event is allowed.
   * @throws FST_MCP_CONNECT_RATE_LIMITED
   */
  count (key: string): Promise<void>
}

/** While the store fails, that is told at most once in this time. */
const TELL_INTERVAL_MS = 60_000

/** @param onError is told why events could not be counted, at most once a minute */
export function createLimiter (kind: keyof Limits, limit: LimitOption, state: Pick<StateStore, 'count'>, onError: (error: unknown) => void): Limiter {
  let toldAt = -Infinity

  async function counted (key: string, windowMs: number): Promise<Awaited<ReturnType<StateStore['count']>> | null> {
    try {
      return await state.count(`limit-${kind}:${key}`, windowMs)
    } catch (error) {
      if (toldAt + TELL_INTERVAL_MS <= Date.now()) {
        toldAt = Date.now()
        onError(error)
      }
      return null
    }
  }

  return {
    async count (key) {
      if (limit === false) return
      const { max, windowMs } = limit
      const result = await counted(key, windowMs)
      if (result === null || result.count <= max) return
      // The store's clock may have been set back since the window began.
      throw new RateLimitedError(kind, result.count === max + 1, Math.min(result.resetMs, windowMs))
    }
  }
}
