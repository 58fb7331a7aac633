import { z } from 'zod'
import type { Bus } from '../types.js'
import { elicitationHash, HOLD_MS, type Link } from './elicitations.js'
import { FLOW_TTL_MS } from './flows.js'
import { withTimeout } from './with-timeout.js'

/** Sends `notifications/elicitation/complete` to one MCP session. May fail; nothing depends on it. */
export type Notify = () => Promise<void>

const endingSchema = z.union([
  z.object({ elicitation: z.string() }),
  z.object({ connection: z.string(), at: z.number() })
])

/**
 * What there is to tell: one elicitation has ended, by its hash; or a connection was made, by `hashConnection`, at a time
 * in epoch milliseconds, so that nobody need wait any longer who was handed a link for it before.
 */
export type Ending = z.infer<typeof endingSchema>

/** Tells the MCP sessions that were handed an elicitation, wherever they are served, that it has ended (MCP 2025-11-25, elicitation). */
export interface Completion {
  /**
   * Remembers that an MCP session of this process was handed a link.
   * @param connection what the link is for, by `hashConnection`
   * @param mcpSession the identity of the session, which may end without saying so: it is not kept alive
   * @param notify must not keep the session alive either
   * @returns what forgets it again
   */
  watch (link: Link, connection: string, mcpSession: object, notify: Notify): () => void
  /** Notifies the sessions of every process that shares the bus, each of the id that it was handed. Never fails, never waits. */
  announce (ending: Ending): void
  /** Ends once what was announced is on the bus, or a second has passed. */
  close (): Promise<void>
}

interface Watched {
  readonly connection: string
  readonly link: Link
  readonly sessions: Set<{ readonly mcpSession: WeakRef<object>, readonly notify: Notify }>
}

const SWEEP_INTERVAL_MS = 60_000
const CLOSE_TIMEOUT_MS = 1000
/** How long after its link has expired an elicitation can still end: the user may have gone to the provider in the last moment. */
const LATEST_END_MS = FLOW_TTL_MS + HOLD_MS

export async function createCompletion (bus: Bus, onError: (error: unknown) => void): Promise<Completion> {
  const watched = new Map<string, Watched>()
  const publishing = new Set<Promise<void>>()

  const affected = (ending: Ending): string[] => 'elicitation' in ending
    ? [ending.elicitation]
    : [...watched].filter(([, { connection, link }]) => connection === ending.connection && link.createdAt <= ending.at).map(([hash]) => hash)

  const deliver = (ending: Ending): void => {
    for (const hash of affected(ending)) {
      const sessions = watched.get(hash)?.sessions ?? []
      watched.delete(hash)
      // A session may be gone, or have no open stream: the client then retries by itself.
      for (const { notify } of sessions) Promise.resolve().then(notify).catch(() => {})
    }
  }

  const unsubscribe = await bus.subscribe(message => {
    const { data } = endingSchema.safeParse(parseJson(message))
    if (data !== undefined) deliver(data)
  })

  const sweeper = setInterval(() => {
    const now = Date.now()
    for (const [hash, { link }] of watched) if (link.expiresAt + LATEST_END_MS <= now) watched.delete(hash)
  }, SWEEP_INTERVAL_MS).unref()

  return {
    watch (link, connection, mcpSession, notify) {
      const hash = elicitationHash(link.id)
      const entry: Watched = watched.get(hash) ?? { connection, link, sessions: new Set() }
      watched.set(hash, entry)
      if ([...entry.sessions].some(other => other.mcpSession.deref() === mcpSession)) return () => {}
      const session = { mcpSession: new WeakRef(mcpSession), notify }
      entry.sessions.add(session)
      return () => entry.sessions.delete(session)
    },

    announce (ending) {
      deliver(ending)
      const published = Promise.resolve().then(() => bus.publish(JSON.stringify(ending))).catch(onError).finally(() => publishing.delete(published))
      publishing.add(published)
    },

    async close () {
      clearInterval(sweeper)
      await withTimeout(Promise.all(publishing), CLOSE_TIMEOUT_MS).catch(onError)
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
