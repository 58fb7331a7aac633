import { EventEmitter } from 'node:events'
import type { Bus } from '../types.js'
import type { PostgresPool } from './postgres-schema.js'

const CHANNEL = "SELECT 'mcp_connect_' || md5(current_schema()) AS channel"
const NOTIFY = "SELECT pg_notify('mcp_connect_' || md5(current_schema()), $1)"
const FIRST_DELAY_MS = 100
const LONGEST_DELAY_MS = 10_000

interface Connection {
  close (): void
}

export interface PostgresListener {
  readonly bus: Bus
  close (): void
}

/** `LISTEN` and `NOTIFY`, on a channel for each schema. A connection that is lost is made again; what is published meanwhile is not heard. */
export function createPostgresListener (pool: PostgresPool): PostgresListener {
  const messages = new EventEmitter().setMaxListeners(0)
  const isHeard = (): boolean => messages.listenerCount('message') > 0
  let connection: Promise<Connection> | undefined
  let retry: NodeJS.Timeout | undefined

  async function listen (): Promise<Connection> {
    const client = await pool.connect()
    let open = true
    const close = (): void => {
      if (open) client.release(true)
      open = false
    }
    client.on('notification', ({ payload = '' }) => { messages.emit('message', payload) })
    client.on('error', () => {
      if (!open) return
      close()
      connection = undefined
      reconnect(FIRST_DELAY_MS)
    })
    try {
      const { rows: [{ channel }] } = await client.query(CHANNEL)
      await client.query(`LISTEN ${channel}`)
      return { close }
    } catch (error) {
      close()
      throw error
    }
  }

  function reconnect (delayMs: number): void {
    if (!isHeard()) return
    retry = setTimeout(() => {
      start().catch(() => reconnect(Math.min(2 * delayMs, LONGEST_DELAY_MS)))
    }, delayMs).unref()
  }

  async function start (): Promise<Connection> {
    connection ??= listen()
    try {
      return await connection
    } catch (error) {
      connection = undefined
      throw error
    }
  }

  function stop (): void {
    clearTimeout(retry)
    connection?.then(({ close }) => close(), () => {})
    connection = undefined
  }

  return {
    bus: {
      async publish (message) {
        await pool.query(NOTIFY, [message])
      },
      async subscribe (listener) {
        messages.on('message', listener)
        try {
          await start()
        } catch (error) {
          messages.off('message', listener)
          throw error
        }
        return async () => {
          messages.off('message', listener)
          if (!isHeard()) stop()
        }
      }
    },
    close () {
      messages.removeAllListeners()
      stop()
    }
  }
}
