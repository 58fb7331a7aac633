import type { Audit } from '../audit-events.js'
import { LOST, untilWon } from '../compare-and-set.js'
import { hashFields } from '../encoding.js'
import { StoreContentionError } from '../errors.js'
import { auditIdsOf, hashPrincipal } from '../principal.js'
import { randomToken } from '../random.js'
import type { Principal } from '../types.js'
import { createGenerations } from './generations.js'
import { createRecords, type RecordServices } from './records.js'

/** Somebody who signed in, in one browser. */
export interface BrowserSession {
  readonly principal: Principal
  /** How the account is named to the person. */
  readonly label: string
  /** Epoch milliseconds: however busy it is, it ends then. */
  readonly endsAt: number
}

interface Row extends BrowserSession {
  /** Ending all sessions of a principal begins the next one. */
  readonly generation: number
  /** Epoch milliseconds. */
  readonly seenAt: number
}

/** Browser sessions as the server knows them, so that one that has ended is over, whoever still has its cookie. */
export interface BrowserSessions {
  /** @returns the session's id, a secret that is for its browser alone */
  begin (session: Omit<BrowserSession, 'endsAt'>): Promise<string>
  /** The session if it is alive, which it stays as long as it is looked for often enough. */
  find (id: string): Promise<BrowserSession | null>
  end (id: string): Promise<void>
  /** Ends all sessions of a principal that have begun so far. */
  endAll (principal: Principal): Promise<void>
}

/** A session is written again when this part of its idle lifetime has passed. */
const RENEWAL = 1 / 10
/** A generation outlives every session by this time. */
const MARGIN_MS = 60 * 60_000

/**
 * @param idleMs how long a session lives that nobody uses
 * @param absoluteMs how long it lives at most
 */
export function createBrowserSessions ({ audit, ...services }: RecordServices & { readonly audit: Audit }, { idleMs, absoluteMs }: { readonly idleMs: number, readonly absoluteMs: number }): BrowserSessions {
  const records = createRecords<Row>('browser-session', services)
  const generations = createGenerations('browser-session-generation', services, absoluteMs + MARGIN_MS)
  const keyOf = (id: string): string => hashFields('browser session', id)

  /** Also true when the record of it is gone. */
  const isEnded = async ({ principal, generation }: Row): Promise<boolean> => generation !== await generations.current(hashPrincipal(principal))

  return {
    async begin ({ principal, label }) {
      const id = randomToken()
      const now = Date.now()
      const generation = await generations.keep(hashPrincipal(principal))
      const row: Row = { principal, label, generation, seenAt: now, endsAt: now + absoluteMs }
      if (await records.put(keyOf(id), row, null, Math.min(idleMs, absoluteMs)) === null) throw new StoreContentionError()
      audit('session.started', auditIdsOf(principal))
      return id
    },

    async find (id) {
      const { record, revision } = await records.get(keyOf(id))
      const now = Date.now()
      if (record === null || record.seenAt + idleMs <= now || record.endsAt <= now || await isEnded(record)) return null
      // Whoever loses the race has it renewed by the winner, or ended.
      if (now - record.seenAt > idleMs * RENEWAL) {
        await records.put(keyOf(id), { ...record, seenAt: now }, revision, Math.min(idleMs, record.endsAt - now))
      }
      return record
    },

    async end (id) {
      const ended = await untilWon(async () => {
        const { record, revision } = await records.get(keyOf(id))
        return revision === null || await records.delete(keyOf(id), revision) ? record : LOST
      })
      if (ended !== null) audit('session.ended', auditIdsOf(ended.principal))
    },

    async endAll (principal) {
      await generations.begin(hashPrincipal(principal))
      audit('session.revoked', auditIdsOf(principal))
    }
  }
}
