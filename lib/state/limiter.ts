import type { StateStore } from '../storage.js'
import type { LimitOption } from '../types.js'

/** Whether an event is within the limit; if not, `first` is the first one beyond it. */
export type Allowance =
  | { readonly allowed: true }
  | { readonly allowed: false, readonly first: boolean, readonly retryAfterMs: number }

/** Counts events of one kind in fixed windows, over all processes that share the store. Keys are hashes. */
export interface Limiter {
  /** Never fails: when the store does, the event is allowed. */
  count (key: string): Promise<Allowance>
}

const ALLOWED = { allowed: true } as const

/**
 * @param onError is told why an event could not be counted
 */
export function createLimiter (kind: string, limit: LimitOption, state: Pick<StateStore, 'count'>, onError: (error: unknown) => void): Limiter {
  return {
    async count (key) {
      if (limit === false) return ALLOWED
      try {
        const { count, resetMs } = await state.count(`${kind}:${key}`, limit.windowMs)
        return count <= limit.max ? ALLOWED : { allowed: false, first: count === limit.max + 1, retryAfterMs: resetMs }
      } catch (error) {
        onError(error)
        return ALLOWED
      }
    }
  }
}
