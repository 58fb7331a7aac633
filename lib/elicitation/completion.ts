import { z } from 'zod'
import type { Bus } from '../storage.js'
import { withTimeout } from '../with-timeout.js'
import { HOLD_MS, type Link } from './elicitations.js'
import { FLOW_TTL_MS } from './flows.js'

/** Sends `notifications/elicitation/complete` to one MCP session. May fail; nothing depends on it. */
export type Notify = () => Promise<void>

const messageSchema = z.object({ topic: z.string(), before: z.number().optional() })

/** Tells the MCP sessions that were handed an elicitation, wherever they are served, that it has ended (MCP 2025-11-25, elicitation). */
export interface Completion {
  /**
   * Remembers that an MCP session of this process was handed a link.
   * @param topics what it waits for: what `announce` may name
   * @param mcpSession the identity of the session, which may end without saying so: it is not kept alive
   * @param notify must not keep the session alive either
   * @returns what forgets it again; a session is forgotten once each of its calls is. To be called once
   */
  watch (link: Link, topics: readonly string[], mcpSession: object, notify: Notify): () => void
  /**
   * Notifies the sessions of every process that shares the bus, each of the id that it was handed. Never fails, never waits.
   * @param before links of this generation and of later ones wait for something else
   */
  announce (topic: string, before?: number): void
  /** Ends once what was announced is on the bus, which has a second for that, and another one to unsubscribe. Never fails. */
  close (): Promise<void>
}

interface Watched {
  readonly link: Link
  readonly topics: readonly string[]
  /** By session, which is not kept alive. */
  readonly watchers: WeakMap<object, Watcher>
  readonly told: Set<Watcher>
}

interface Watcher {
  readonly notify: Notify
  /** How many calls of the session wait. */
  calls: number
}

const SWEEP_INTERVAL_MS = 60_000
const BUS_TIMEOUT_MS = 1000
/** How long after its link has expired an elicitation can still end: the user may have gone to the provider in the last moment. */
const LATEST_END_MS = FLOW_TTL_MS + HOLD_MS

/** @throws what the bus throws when nobody can subscribe */
export async function createCompletion (bus: Bus, onError: (error: unknown) => void): Promise<Completion> {
  const byId = new Map<string, Watched>()
  const byTopic = new Map<string, Set<Watched>>()
  const publishing = new Set<Promise<void>>()

  function add (link: Link, topics: readonly string[]): Watched {
    const watched: Watched = { link, topics, watchers: new WeakMap(), told: new Set() }
    byId.set(link.id, watched)
    for (const topic of topics) byTopic.set(topic, (byTopic.get(topic) ?? new Set()).add(watched))
    return watched
  }

  function remove (watched: Watched): void {
    byId.delete(watched.link.id)
    for (const topic of watched.topics) {
      byTopic.get(topic)?.delete(watched)
      if (byTopic.get(topic)?.size === 0) byTopic.delete(topic)
    }
  }

  function deliver (topic: string, before = Infinity): void {
    for (const watched of [...byTopic.get(topic) ?? []].filter(({ link }) => link.generation < before)) {
      remove(watched)
      // A session may be gone, or have no open stream: the client then retries by itself.
      for (const { notify } of watched.told) Promise.resolve().then(notify).catch(() => {})
    }
  }

  const unsubscribe = await bus.subscribe(message => {
    const { data } = messageSchema.safeParse(parseJson(message))
    if (data !== undefined) deliver(data.topic, data.before)
  })

  const sweeper = setInterval(() => {
    const now = Date.now()
    for (const watched of byId.values()) if (watched.link.expiresAt + LATEST_END_MS <= now) remove(watched)
  }, SWEEP_INTERVAL_MS).unref()

  return {
    watch (link, topics, mcpSession, notify) {
      const watched = byId.get(link.id) ?? add(link, topics)
      const watcher = watched.watchers.get(mcpSession) ?? { notify, calls: 0 }
      watcher.calls++
      watched.watchers.set(mcpSession, watcher)
      watched.told.add(watcher)
      return () => {
        if (--watcher.calls === 0) watched.told.delete(watcher)
      }
    },

    announce (topic, before) {
      deliver(topic, before)
      const published = withTimeout(Promise.resolve().then(() => bus.publish(JSON.stringify({ topic, before }))), BUS_TIMEOUT_MS)
        .catch(onError).finally(() => publishing.delete(published))
      publishing.add(published)
    },

    async close () {
      clearInterval(sweeper)
      await Promise.all(publishing)
      await withTimeout(Promise.resolve().then(unsubscribe), BUS_TIMEOUT_MS).catch(onError)
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
