import { z } from 'zod'
import type { Bus } from '../types.js'
import { elicitationHash } from './elicitations.js'

/** Sends `notifications/elicitation/complete` to one MCP session. May fail; nothing depends on it. */
export type Notify = () => Promise<void>

/** Tells the MCP sessions that were handed an elicitation, wherever they are served, that it has ended (MCP 2025-11-25, elicitation). */
export interface Completion {
  /**
   * Remembers that an MCP session of this process was handed the id.
   * @param mcpSession the identity of the session
   * @returns what forgets it again
   */
  watch (id: string, expiresAt: number, mcpSession: object, notify: Notify): () => void
  /** Notifies the sessions of every process that shares the bus, once. Never fails. */
  announce (hash: string): Promise<void>
  close (): Promise<void>
}

const messageSchema = z.object({ ended: z.string() })

export async function createCompletion (bus: Bus, onError: (error: unknown) => void): Promise<Completion> {
  const watched = new Map<string, { expiresAt: number, sessions: Map<object, Notify> }>()

  const deliver = (hash: string): void => {
    const sessions = watched.get(hash)?.sessions.values() ?? []
    watched.delete(hash)
    // A session may be gone, or have no open stream: the client then retries by itself.
    for (const notify of sessions) Promise.resolve().then(notify).catch(() => {})
  }

  const unsubscribe = await bus.subscribe(message => {
    const { data } = messageSchema.safeParse(parseJson(message))
    if (data !== undefined) deliver(data.ended)
  })

  return {
    watch (id, expiresAt, mcpSession, notify) {
      const now = Date.now()
      for (const [key, entry] of watched) {           // in the order of insertion, so the oldest come first
        if (entry.expiresAt > now) break
        watched.delete(key)
      }
      const hash = elicitationHash(id)
      const entry = watched.get(hash) ?? { expiresAt, sessions: new Map<object, Notify>() }
      entry.sessions.set(mcpSession, notify)
      watched.set(hash, entry)
      return () => entry.sessions.delete(mcpSession)
    },

    async announce (hash) {
      deliver(hash)
      try {
        await bus.publish(JSON.stringify({ ended: hash }))
      } catch (error) {
        onError(error)
      }
    },

    close: unsubscribe
  }
}

function parseJson (text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
