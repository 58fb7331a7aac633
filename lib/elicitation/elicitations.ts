import { LOST, untilWon } from '../compare-and-set.js'
import { hashFields } from '../encoding.js'
import { hashPrincipal } from '../principal.js'
import { randomToken } from '../random.js'
import type { Principal, StateStore } from '../types.js'
import type { Sealer } from '../vault/sealer.js'
import { coalesce } from './coalesce.js'
import { createRecords } from './records.js'

/** One request for user interaction. */
export interface Elicitation {
  readonly principal: Principal
  /** The MCP client that it was handed to; `null` when it waits on the connections page. */
  readonly client: { readonly id: string, readonly name?: string } | null
  readonly provider: string
  readonly scopes: readonly string[]
  /** Why, in the words of each handler that asks. */
  readonly reasons: readonly string[]
  readonly status: 'pending' | Outcome
  /** Epoch milliseconds: until then the link can be used. */
  readonly expiresAt: number
  /** Who is finishing it, and until when (epoch milliseconds) nobody else may. */
  readonly heldBy?: { readonly holder: string, readonly until: number }
  /** Epoch milliseconds; present once the status is final. */
  readonly endedAt?: number
}

export type Outcome = 'completed' | 'declined' | 'failed'

export type Wanted = Pick<Elicitation, 'principal' | 'provider' | 'scopes' | 'reasons'>

/** A link that can be used. */
export interface Link {
  readonly id: string
  /** Epoch milliseconds. */
  readonly expiresAt: number
}

export interface Elicitations {
  /**
   * The live elicitation of this principal, client and provider: the pending one, widened to what is wanted, or a new
   * one. However many calls ask at once, there is one record.
   * @returns `null` while the user's decline is younger than the cool-down
   */
  request (client: NonNullable<Elicitation['client']>, wanted: Wanted): Promise<Link | null>
  /** The live elicitation that waits on the connections page. */
  offer (wanted: Wanted): Promise<Link>
  /** The user begins by themselves: an earlier decline of this provider is void, for every client. */
  reopen (principal: Principal, provider: string): Promise<void>
  /** @param hash of the id; the id itself is not stored in the clear */
  find (hash: string): Promise<Elicitation | null>
  /** Reserves a pending record for one holder, or renews that. @returns `false` when another one holds it, or it is final or gone */
  hold (hash: string, holder: string): Promise<boolean>
  /** Gives a record back that this one holds, still pending. */
  release (hash: string, holder: string): Promise<void>
  /**
   * Moves a record to its final status.
   * @param holder `null` for somebody who holds nothing
   * @returns `false` when it is final already, or gone, or held by another
   */
  end (hash: string, outcome: Outcome, holder: string | null): Promise<boolean>
}

/** A record outlives its link by this time, so that a late visitor is told "expired" and not "unknown". */
const AFTERLIFE_MS = 60 * 60_000
/** A link with less left is not handed out again; with short lifetimes it is a quarter of them. */
const SHORTEST_REST_MS = 5 * 60_000
/** More than these would tell the user nothing. */
const MAX_REASONS = 5
/** More than the time that a token request and the vault may take. */
const HOLD_MS = 30_000

export function elicitationHash (id: string): string {
  return hashFields('elicitation', id)
}

export function isPending ({ status, expiresAt }: Elicitation): boolean {
  return status === 'pending' && expiresAt > Date.now()
}

/** Whether somebody else is finishing it. */
export function isHeldByOther ({ heldBy }: Elicitation, holder: string | null): boolean {
  return heldBy !== undefined && heldBy.holder !== holder && heldBy.until > Date.now()
}

interface Services {
  readonly state: StateStore
  readonly sealer: Sealer
  readonly ttlMs: number
  readonly declineCoolDownMs: number
}

export function createElicitations ({ state, sealer, ttlMs, declineCoolDownMs }: Services): Elicitations {
  const records = createRecords<Elicitation>('elicitation', state, sealer)
  /** Which elicitation is the live one of a principal, client and provider. */
  const live = createRecords<{ readonly id: string }>('live-elicitation', state, sealer)
  const reopenings = createRecords<{ readonly at: number }>('reopening', state, sealer)
  const rowTtlMs = Math.max(ttlMs, declineCoolDownMs) + AFTERLIFE_MS
  const shortestRestMs = Math.min(SHORTEST_REST_MS, ttlMs / 4)
  const reopeningKey = (principal: Principal, provider: string): string => hashFields(hashPrincipal(principal), provider)

  async function isDeclined ({ status, principal, provider, endedAt = 0 }: Elicitation): Promise<boolean> {
    if (status !== 'declined' || endedAt + declineCoolDownMs <= Date.now()) return false
    const reopening = await reopenings.get(reopeningKey(principal, provider))
    return reopening === null || reopening.record.at < endedAt
  }

  async function findOrCreate (liveKey: string, { client, ...wanted }: Wanted & Pick<Elicitation, 'client'>): Promise<Link | null | typeof LOST> {
    const pointer = await live.get(liveKey)
    const current = pointer === null ? null : await records.get(elicitationHash(pointer.record.id))
    if (pointer !== null && current !== null) {
      const { record, revision } = current
      if (client !== null && await isDeclined(record)) return null
      if (isPending(record) && record.expiresAt - Date.now() > shortestRestMs) {
        const link = { id: pointer.record.id, expiresAt: record.expiresAt }
        const wider = merge(record, wanted)
        if (wider.scopes.length === record.scopes.length && wider.reasons.length === record.reasons.length) return link
        return await records.put(elicitationHash(link.id), { ...record, ...wider }, revision) === null ? LOST : link
      }
    }
    const link = { id: randomToken(), expiresAt: Date.now() + ttlMs }
    const hash = elicitationHash(link.id)
    const revision = await records.put(hash, { ...wanted, client, status: 'pending', expiresAt: link.expiresAt }, null, rowTtlMs)
    if (await live.put(liveKey, { id: link.id }, pointer?.revision ?? null, rowTtlMs) !== null) return link
    if (revision !== null) await records.delete(hash, revision)
    return LOST
  }

  const inTurn = coalesce<Wanted & Pick<Elicitation, 'client'>, Link | null>(
    (a, b) => ({ ...a, ...merge(a, b) }),
    (liveKey, wanted) => untilWon(() => findOrCreate(liveKey, wanted)))

  async function ask (client: Elicitation['client'], wanted: Wanted): Promise<Link | null> {
    const asker = client === null ? ['page'] : ['client', client.id]
    return await inTurn(hashFields(hashPrincipal(wanted.principal), wanted.provider, ...asker), { ...wanted, client })
  }

  /** Changes a pending record by compare-and-set. @returns `false` when it is not pending, or the change is refused */
  async function change (hash: string, step: (record: Elicitation) => Elicitation | null): Promise<boolean> {
    return await untilWon(async () => {
      const found = await records.get(hash)
      if (found === null || found.record.status !== 'pending') return false
      const changed = step(found.record)
      if (changed === null) return false
      return await records.put(hash, changed, found.revision, rowTtlMs) === null ? LOST : true
    })
  }

  return {
    request: ask,
    offer: async wanted => (await ask(null, wanted))!,

    async reopen (principal, provider) {
      const key = reopeningKey(principal, provider)
      await untilWon(async () => {
        const found = await reopenings.get(key)
        return await reopenings.put(key, { at: Date.now() }, found?.revision ?? null, rowTtlMs) ?? LOST
      })
    },

    async find (hash) {
      return (await records.get(hash))?.record ?? null
    },

    hold: (hash, holder) => change(hash, record => isHeldByOther(record, holder) ? null : { ...record, heldBy: { holder, until: Date.now() + HOLD_MS } }),

    async release (hash, holder) {
      await change(hash, ({ heldBy, ...record }) => heldBy?.holder === holder ? record : null)
    },

    end: (hash, outcome, holder) =>
      change(hash, record => isHeldByOther(record, holder) ? null : { ...record, status: outcome, endedAt: Date.now() })
  }
}

function merge (a: Pick<Wanted, 'scopes' | 'reasons'>, b: Pick<Wanted, 'scopes' | 'reasons'>): Pick<Wanted, 'scopes' | 'reasons'> {
  return { scopes: [...new Set([...a.scopes, ...b.scopes])], reasons: [...new Set([...a.reasons, ...b.reasons])].slice(0, MAX_REASONS) }
}
