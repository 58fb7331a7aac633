import type { ServerResponse } from 'node:http'

/** How long an answer that is being ended may take to leave. */
const GRACE_MS = 500

/** Requests that are being answered, so that none of them outlives what answers it. */
export interface Exchanges {
  readonly size: number
  /** @param done is called when the answer has ended, or the client has gone */
  add (response: ServerResponse, done?: () => void): void
  /** Waits a moment for answers that are about to end, and cuts off the others. */
  end (): Promise<void>
}

export function createExchanges (): Exchanges {
  const open = new Set<ServerResponse>()
  const onEmpty = new Set<() => void>()
  return {
    get size () { return open.size },
    add (response, done) {
      if (response.destroyed) return done?.()      // the client has gone already
      open.add(response)
      response.once('close', () => {
        open.delete(response)
        done?.()
        if (open.size > 0) return
        for (const resolve of onEmpty) resolve()
        onEmpty.clear()
      })
    },
    async end () {
      if (open.size === 0) return
      const cut = setTimeout(() => { for (const response of open) response.destroy() }, GRACE_MS)
      await new Promise<void>(resolve => { onEmpty.add(resolve) })
      clearTimeout(cut)
    }
  }
}
