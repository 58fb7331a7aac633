import { z } from 'zod'
import { hashFields } from '../encoding.js'
import { hashPrincipal } from '../principal.js'
import type { Bus, Principal } from '../types.js'
import { elicitationHash, type Link } from './elicitations.js'

/** Sends `notifications/elicitation/complete` to one MCP session. May fail; nothing depends on it. */
export type Notify = () => Promise<void>

/** Tells the MCP sessions that were handed an elicitation, wherever they are served, that it has ended (MCP 2025-11-25, elicitation). */
export interface Completion {
  /**
   * Remembers that an MCP session of this process was handed a link.
   * @param connection what the link is for, by `connectionHash`
   * @param mcpSession the identity of the session, which may end without saying so: it is not kept alive
   * @param notify must not keep the session alive either
   * @returns what forgets it again
   */
  watch (link: Link, connection: string, mcpSession: object, notify: Notify): () => void
  /** Notifies the sessions of every process that shares the bus, once, each of the id that it was handed. Never fails, never waits. */
  announce (what: { readonly elicitation: string } | { readonly connection: string }): void
  close (): Promise<void>
}

interface Watched {
  readonly connection: string
  readonly expiresAt: number
  readonly sessions: Array<{ readonly mcpSession: WeakRef<object>, readonly notify: Notify }>
}

const SWEEP_INTERVAL_MS = 60_000

const messageSchema = z.union([z.object({ elicitation: z.string() }), z.object({ connection: z.string() })])

/** Names what a principal connects, or has connected. */
export function connectionHash (principal: Principal, provider: string): string {
  return hashFields('connection', hashPrincipal(principal), provider)
}

export async function createCompletion (bus: Bus, onError: (error: unknown) => void): Promise<Completion> {
  const watched = new Map<string, Watched>()

  const deliver = (what: z.infer<typeof messageSchema>): void => {
    const hashes = 'elicitation' in what ? [what.elicitation] : [...watched].filter(([, { connection }]) => connection === what.connection).map(([hash]) => hash)
    for (const hash of hashes) {
      const sessions = watched.get(hash)?.sessions ?? []
      watched.delete(hash)
      // A session may be gone, or have no open stream: the client then retries by itself.
      for (const { notify } of sessions) Promise.resolve().then(notify).catch(() => {})
    }
  }

  const unsubscribe = await bus.subscribe(message => {
    const { data } = messageSchema.safeParse(parseJson(message))
    if (data !== undefined) deliver(data)
  })

  const sweeper = setInterval(() => {
    const now = Date.now()
    for (const [hash, { expiresAt }] of watched) if (expiresAt <= now) watched.delete(hash)
  }, SWEEP_INTERVAL_MS).unref()

  return {
    watch ({ id, expiresAt }, connection, mcpSession, notify) {
      const hash = elicitationHash(id)
      const entry = watched.get(hash) ?? { connection, expiresAt, sessions: [] }
      watched.set(hash, entry)
      if (entry.sessions.some(other => other.mcpSession.deref() === mcpSession)) return () => {}
      const session = { mcpSession: new WeakRef(mcpSession), notify }
      entry.sessions.push(session)
      return () => { entry.sessions.splice(entry.sessions.indexOf(session), 1) }
    },

    announce (what) {
      deliver(what)
      Promise.resolve().then(() => bus.publish(JSON.stringify(what))).catch(onError)
    },

    async close () {
      clearInterval(sweeper)
      await unsubscribe()
    }
  }
}

function parseJson (text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
