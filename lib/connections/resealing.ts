import type { FastifyBaseLogger } from 'fastify'
import { setImmediate } from 'node:timers/promises'
import type { Audit } from '../audit-events.js'
import { LOST, untilWon } from '../compare-and-set.js'
import { AdapterInvalidError, SealBrokenError, StoreContentionError } from '../errors.js'
import type { TokenVault } from '../storage.js'
import type { ResealOptions, ResealReport } from '../decorator.js'
import type { Sealer } from '../vault/sealer.js'
import { withTimeout } from '../with-timeout.js'
import { grantContext } from './grant-context.js'

export interface Resealing {
  /** Seals an entry that was met with the newest key, in the background. Never fails. */
  lazily (owner: string, name: string): void
  all (options?: ResealOptions): Promise<ResealReport>
  /** Ends once what goes on in the background has ended, which has a second for that. Never fails. */
  close (): Promise<void>
}

/** So many entries are in work at once: the vault serves calls of users too. */
const PAGE = 20
/** A vault that cannot be written to is left alone for so long, and an entry that was tried. */
const PAUSE_MS = 60_000
const MAX_RECENT = 10_000
/** Unlike a new grant, one that is sealed anew when everybody has given up changes nothing. */
const PUT_TIMEOUT_MS = 10_000
const CLOSE_TIMEOUT_MS = 1000

type Outcome = { readonly kind: 'current' | 'resealed' | 'gone' } | { readonly kind: 'unreadable', readonly keyId: string }

/** Seals what older keys have sealed with the newest one, by compare-and-set: whoever writes meanwhile wins. */
export function createResealing ({ vault, sealer, audit, log }: { vault: TokenVault, sealer: Sealer, audit: Audit, log: FastifyBaseLogger }): Resealing {
  const underWay = new Map<string, Promise<void>>()
  /** Places that were tried lately: while keys are rolled out, another process may seal with another one. */
  const recent = new Map<string, number>()
  let pausedUntil = 0

  const isDue = (place: string, now: number): boolean =>
    !underWay.has(place) && underWay.size < PAGE && now >= pausedUntil && now >= (recent.get(place) ?? 0)

  function remember (place: string, now: number): void {
    recent.delete(place)
    recent.set(place, now + PAUSE_MS)
    const [oldest] = recent.keys()
    if (recent.size > MAX_RECENT) recent.delete(oldest!)
  }

  async function reseal (owner: string, name: string, dryRun = false): Promise<Outcome> {
    return await untilWon<Outcome>(async () => {
      const stored = await vault.get(owner, name)
      if (stored === null) return { kind: 'gone' }
      try {
        const sealed = sealer.reseal(stored.value, grantContext(owner, name))
        if (sealed === null) return { kind: 'current' }
        if (dryRun) return { kind: 'resealed' }
        if (await withTimeout(vault.put(owner, name, sealed, stored.revision), PUT_TIMEOUT_MS) === null) return LOST
        audit('vault.resealed', { principal: owner })
        return { kind: 'resealed' }
      } catch (error) {
        if (error instanceof SealBrokenError) return { kind: 'unreadable', keyId: sealer.keyIdOf(stored.value) }
        throw error
      }
    })
  }

  return {
    lazily (owner, name) {
      const place = owner + name
      const now = Date.now()
      if (!isDue(place, now)) return
      remember(place, now)
      const work = reseal(owner, name).then(() => {}, error => {
        if (!(error instanceof StoreContentionError)) pausedUntil = Date.now() + PAUSE_MS
        log.warn({ err: error }, 'mcp-connect: a grant could not be sealed with the newest key; it will be tried again in a minute or later')
      })
      underWay.set(place, work.finally(() => underWay.delete(place)))
    },

    async all ({ dryRun = false, onProgress } = {}) {
      let report: ResealReport = { entries: 0, current: 0, resealed: 0, unreadable: {} }
      for (let cursor: string | null | undefined; cursor !== null;) {
        const page = await vault.list({ limit: PAGE, ...cursor !== undefined && { cursor } })
        if (page.cursor !== null && page.cursor === cursor) throw new AdapterInvalidError('vault.list', 'another cursor with each page')
        const outcomes = await Promise.all(page.entries.map(({ owner, name }) => reseal(owner, name, dryRun)))
        report = outcomes.reduce(add, report)
        onProgress?.(report)
        cursor = page.cursor
        await setImmediate()     // a store may be synchronous underneath: calls of users come in between
      }
      return report
    },

    async close () {
      await withTimeout(Promise.all(underWay.values()), CLOSE_TIMEOUT_MS).catch(() => {})     // cut off, it has changed nothing
    }
  }
}

function add ({ entries, current, resealed, unreadable }: ResealReport, outcome: Outcome): ResealReport {
  if (outcome.kind === 'gone') return { entries, current, resealed, unreadable }
  return {
    entries: entries + 1,
    current: current + Number(outcome.kind === 'current'),
    resealed: resealed + Number(outcome.kind === 'resealed'),
    unreadable: outcome.kind === 'unreadable' ? { ...unreadable, [outcome.keyId]: (unreadable[outcome.keyId] ?? 0) + 1 } : unreadable
  }
}
