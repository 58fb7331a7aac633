import { z } from 'zod'
import type { Bus } from '../storage.js'
import { withTimeout } from '../with-timeout.js'
import { HOLD_MS, type Link } from './elicitations.js'
import { FLOW_TTL_MS } from './flows.js'

/** Tells whoever waits: by `notifications/elicitation/complete` to an MCP session, or within this process. May fail; nothing depends on it. */
export type Notify = () => Promise<void>

const messageSchema = z.object({ topic: z.string(), before: z.number().optional() })

/** Tells whoever waits for an elicitation, wherever that is served, that it has ended: MCP sessions (MCP 2025-11-25, elicitation), and calls of MCP 2026-07-28. */
export interface Completion {
  /**
   * Remembers that somebody in this process waits for the end of a link.
   * @param topics what is waited for: what `announce` may name
   * @param identity stands for who waits: an MCP session, which may end without saying so and is not kept alive, or a call
   * @param notify must not keep it alive either
   * @returns what forgets it again; who waits is forgotten once each of the calls is. To be called once
   */
  watch (link: Link, topics: readonly string[], identity: object, notify: Notify): () => void
  /**
   * Tells whoever waits in any process that shares the bus. Never fails, never waits.
   * @param before links of this generation and of later ones wait for something else
   */
  announce (topic: string, before?: number): void
  /** Ends once what was announced is on the bus, which has a second for that, and another one to unsubscribe. Never fails. */
  close (): Promise<void>
}

interface Watched {
  readonly link: Link
  readonly topics: readonly string[]
  /** By who waits, which is not kept alive. */
  readonly watchers: WeakMap<object, Watcher>
  readonly told: Set<Watcher>
}

interface Watcher {
  readonly notify: Notify
  /** How many calls wait. */
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
    watch (link, topics, identity, notify) {
      const watched = byId.get(link.id) ?? add(link, topics)
      const watcher = watched.watchers.get(identity) ?? { notify, calls: 0 }
      watcher.calls++
      watched.watchers.set(identity, watcher)
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
