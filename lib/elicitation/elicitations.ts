import { LOST, untilWon } from '../compare-and-set.js'
import { hashFields } from '../encoding.js'
import { hashConnection } from '../principal.js'
import { randomToken } from '../random.js'
import type { Principal, StateStore } from '../types.js'
import type { Sealer } from '../vault/sealer.js'
import { coalesce } from './coalesce.js'
import { after, createInstants } from './instants.js'
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
  /** Epoch milliseconds. */
  readonly createdAt: number
  /** Epoch milliseconds: until then the link can be used. */
  readonly expiresAt: number
  /** Who is finishing it, and until when (epoch milliseconds) nobody else may. */
  readonly heldBy?: { readonly holder: string, readonly until: number }
  /** Epoch milliseconds; present once the status is final. */
  readonly endedAt?: number
}

export type Outcome = 'completed' | 'declined' | 'failed'

/** How a change of a record went; `held`: by somebody else, who is finishing it; `over`: it is final, or gone. */
export type Turn = 'won' | 'held' | 'over'

export type Wanted = Pick<Elicitation, 'principal' | 'provider' | 'scopes' | 'reasons'>

/** A link that can be used. */
export interface Link {
  readonly id: string
  /** Epoch milliseconds. */
  readonly createdAt: number
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
  /**
   * The user has connected: of the links that clients were handed so far, none is handed out again, since those who
   * wait for one are told to wait no longer. They can still be used.
   * @returns epoch milliseconds, not before any of these links was created, and before every later one is
   */
  retire (principal: Principal, provider: string): Promise<number>
  /** @param hash of the id; the id itself is not stored in the clear */
  find (hash: string): Promise<Elicitation | null>
  /** Whether there is anything left to wait for: it is pending, and not retired. */
  isLive (hash: string): Promise<boolean>
  /** Reserves a pending record for one holder, or renews that. */
  hold (hash: string, holder: string): Promise<Turn>
  /** Gives a record back that this one holds, still pending. */
  release (hash: string, holder: string): Promise<void>
  /** Moves a record to its final status. @param holder `null` for somebody who holds nothing */
  end (hash: string, outcome: Outcome, holder: string | null): Promise<Turn>
}

/** A record outlives its link by this time, so that a late visitor is told "expired" and not "unknown". */
const AFTERLIFE_MS = 60 * 60_000
/** A link with less left is not handed out again; with short lifetimes it is a quarter of them. */
const SHORTEST_REST_MS = 5 * 60_000
/** More than these would tell the user nothing. */
const MAX_REASONS = 5
/** More than the time that a token request and the vault may take. */
export const HOLD_MS = 30_000

export function elicitationHash (id: string): string {
  return hashFields('elicitation', id)
}

export function isPending ({ status, expiresAt }: Elicitation): boolean {
  return status === 'pending' && expiresAt > Date.now()
}

function isHeldByOther ({ heldBy }: Elicitation, holder: string | null): boolean {
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
  const rowTtlMs = Math.max(ttlMs, declineCoolDownMs) + AFTERLIFE_MS
  const reopenings = createInstants('reopening', { state, sealer }, rowTtlMs)
  const retirements = createInstants('retirement', { state, sealer }, rowTtlMs)
  const shortestRestMs = Math.min(SHORTEST_REST_MS, ttlMs / 4)

  async function isDeclined ({ status, principal, provider, endedAt = 0 }: Elicitation): Promise<boolean> {
    if (status !== 'declined' || endedAt + declineCoolDownMs <= Date.now()) return false
    return await reopenings.last(principal, provider) < endedAt
  }

  /** What waits on the connections page was handed to nobody. */
  const isRetired = ({ client, createdAt }: Elicitation, retiredAt: number): boolean => client !== null && createdAt <= retiredAt

  async function findOrCreate (liveKey: string, { client, ...wanted }: Wanted & Pick<Elicitation, 'client'>): Promise<Link | null | typeof LOST> {
    const retiredAt = await retirements.last(wanted.principal, wanted.provider)
    const pointer = await live.get(liveKey)
    const current = pointer === null ? null : await records.get(elicitationHash(pointer.record.id))
    if (pointer !== null && current !== null) {
      const { record, revision } = current
      if (client !== null && await isDeclined(record)) return null
      if (isPending(record) && !isRetired(record, retiredAt) && record.expiresAt - Date.now() > shortestRestMs) {
        const link = { id: pointer.record.id, createdAt: record.createdAt, expiresAt: record.expiresAt }
        const wider = merge(record, wanted)
        if (wider.scopes.length === record.scopes.length && wider.reasons.length === record.reasons.length) return link
        return await records.put(elicitationHash(link.id), { ...record, ...wider }, revision) === null ? LOST : link
      }
    }
    const id = randomToken()
    const hash = elicitationHash(id)
    const times = { createdAt: after(retiredAt), expiresAt: Date.now() + ttlMs }
    const revision = await records.put(hash, { ...wanted, ...times, client, status: 'pending' }, null, rowTtlMs)
    if (await live.put(liveKey, { id }, pointer?.revision ?? null, rowTtlMs) !== null) return { id, ...times }
    if (revision !== null) await records.delete(hash, revision)
    return LOST
  }

  const inTurn = coalesce<Wanted & Pick<Elicitation, 'client'>, Link | null>(
    (a, b) => ({ ...a, ...merge(a, b) }),
    (liveKey, wanted) => untilWon(() => findOrCreate(liveKey, wanted)))

  async function ask (client: Elicitation['client'], wanted: Wanted): Promise<Link | null> {
    const asker = client === null ? ['page'] : ['client', client.id]
    return await inTurn(hashFields(hashConnection(wanted.principal, wanted.provider), ...asker), { ...wanted, client })
  }

  /** Changes a pending record that nobody else holds, by compare-and-set. */
  async function change (hash: string, holder: string | null, step: (record: Elicitation) => Elicitation): Promise<Turn> {
    return await untilWon<Turn>(async () => {
      const found = await records.get(hash)
      if (found === null || found.record.status !== 'pending') return 'over'
      if (isHeldByOther(found.record, holder)) return 'held'
      return await records.put(hash, step(found.record), found.revision, rowTtlMs) === null ? LOST : 'won'
    })
  }

  return {
    request: ask,
    offer: async wanted => (await ask(null, wanted))!,

    async reopen (principal, provider) {
      await reopenings.record(principal, provider)
    },

    retire: (principal, provider) => retirements.record(principal, provider),

    async find (hash) {
      return (await records.get(hash))?.record ?? null
    },

    async isLive (hash) {
      const found = await records.get(hash)
      if (found === null || found.record.status !== 'pending') return false
      return !isRetired(found.record, await retirements.last(found.record.principal, found.record.provider))
    },

    hold: (hash, holder) => change(hash, holder, record => ({ ...record, heldBy: { holder, until: Date.now() + HOLD_MS } })),

    async release (hash, holder) {
      await change(hash, holder, ({ heldBy, ...record }) => record)
    },

    end: (hash, outcome, holder) => change(hash, holder, record => ({ ...record, status: outcome, endedAt: Date.now() }))
  }
}

function merge (a: Pick<Wanted, 'scopes' | 'reasons'>, b: Pick<Wanted, 'scopes' | 'reasons'>): Pick<Wanted, 'scopes' | 'reasons'> {
  return { scopes: [...new Set([...a.scopes, ...b.scopes])], reasons: [...new Set([...a.reasons, ...b.reasons])].slice(0, MAX_REASONS) }
}
