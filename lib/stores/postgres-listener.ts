import type { Bus } from '../storage.js'
import { createListeners } from './listeners.js'
import type { PostgresPool } from './postgres-schema.js'

const CHANNEL = "SELECT 'mcp_connect_' || md5(current_schema()) AS channel"
const NOTIFY = "SELECT pg_notify('mcp_connect_' || md5(current_schema()), $1)"
const FIRST_DELAY_MS = 100
const LONGEST_DELAY_MS = 10_000

type Close = () => void

export interface PostgresListener {
  readonly bus: Bus
  readonly close: Close
}

/** `LISTEN` and `NOTIFY`, on a channel for each schema. A connection that is lost is made again; what is published meanwhile is not heard. */
export function createPostgresListener (pool: PostgresPool): PostgresListener {
  const listeners = createListeners()
  let current: Promise<Close> | undefined
  let retry: NodeJS.Timeout | undefined

  /** @param onLost is called once when the connection is lost after it has listened */
  async function listen (onLost: () => void): Promise<Close> {
    const client = await pool.connect()
    let [open, listening] = [true, false]
    const close = (): void => {
      if (open) client.release(true)
      open = false
    }
    client.on('notification', ({ payload = '' }) => listeners.tell(payload))
    client.on('error', () => {
      if (!open) return
      close()
      if (listening) onLost()
    })
    try {
      const { rows: [{ channel }] } = await client.query(CHANNEL)
      await client.query(`LISTEN ${channel}`)
      listening = true
      return close
    } catch (error) {
      close()
      throw error
    }
  }

  async function start (): Promise<void> {
    clearTimeout(retry)
    const own = current ??= listen(() => {
      if (current !== own) return
      current = undefined
      startLater(FIRST_DELAY_MS)
    })
    try {
      await own
    } catch (error) {
      if (current === own) current = undefined
      throw error
    }
  }

  function startLater (delayMs: number): void {
    clearTimeout(retry)
    retry = setTimeout(() => {
      if (listeners.size > 0) start().catch(() => startLater(Math.min(2 * delayMs, LONGEST_DELAY_MS)))
    }, delayMs).unref()
  }

  function stop (): void {
    clearTimeout(retry)
    current?.then(close => close(), () => {})
    current = undefined
  }

  return {
    bus: {
      async publish (message) {
        await pool.query(NOTIFY, [message])
      },
      async subscribe (listener) {
        const end = listeners.add(listener)
        try {
          await start()
        } catch (error) {
          end()
          startLater(FIRST_DELAY_MS)     // for others, if there are any
          throw error
        }
        return async () => {
          end()
          if (listeners.size === 0) stop()
        }
      }
    },
    close () {
      listeners.clear()
      stop()
    }
  }
}
