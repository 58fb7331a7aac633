import type { Audit, AuditedElicitation } from '../audit-events.js'
import { LOST, untilWon } from '../compare-and-set.js'
import { hashFields } from '../encoding.js'
import { StoreContentionError } from '../errors.js'
import { auditIdsOf, hashClient, hashConnection, hashPrincipal } from '../principal.js'
import { randomToken } from '../random.js'
import { createGenerations } from '../state/generations.js'
import type { Limiter } from '../state/limiter.js'
import { createRecords, type RecordServices } from '../state/records.js'
import type { Principal } from '../types.js'
import { coalesce } from './coalesce.js'
import type { Declines } from './declines.js'

/** One request for user interaction. */
export interface Elicitation {
  readonly principal: Principal
  /** The MCP client that it was handed to; `null` when it waits on the connections page. */
  readonly client: { readonly id: string, readonly name?: string } | null
  readonly provider: string
  /** Which account there, by its identifier or label; absent: the default, or the first. */
  readonly account?: string
  /** A further account is wanted, beside those that are connected. */
  readonly another?: true
  readonly scopes: readonly string[]
  /** Why, in the words of each handler that asks. */
  readonly reasons: readonly string[]
  readonly status: 'pending' | Outcome
  /** Of the links of all clients; what is told to those who wait begins the next one. */
  readonly generation: number
  /** Epoch milliseconds: until then the link can be used. */
  readonly expiresAt: number
  /** Epoch milliseconds: when the link was last handed out. */
  readonly askedAt: number
  /** Who is finishing it, and until when (epoch milliseconds) nobody else may. */
  readonly heldBy?: { readonly holder: string, readonly until: number }
}

export type Outcome = 'completed' | 'declined' | 'failed'

/** How a change of a record went; `held`: by somebody else, who is finishing it; `over`: it is final, or gone. */
export type Turn = 'won' | 'held' | 'over'

export type Wanted = Subject & Pick<Elicitation, 'scopes' | 'reasons'>

/** What is to be connected, and whose it will be. */
export type Subject = Pick<Elicitation, 'principal' | 'provider' | 'account' | 'another'>

/** A call for a link, and the client that a new record counts for, if any. */
interface Asked {
  readonly asker: string
  readonly wanted: Wanted & Pick<Elicitation, 'client'>
  readonly countFor: Elicitation['client']
}

/** A link that can be used. */
export interface Link {
  readonly id: string
  readonly generation: number
  /** Epoch milliseconds. */
  readonly expiresAt: number
}

/** The link that a client has, or what has become of it. */
export type Current =
  | { readonly kind: 'live', readonly link: Link, readonly askedAt: number }
  | { readonly kind: 'declined' | 'none' }

export interface Elicitations {
  /**
   * The live elicitation of this principal, client and provider: the pending one, widened to what is wanted, as long as
   * enough of its time is left and no link of this principal and provider has ended in between; or a new one. However many calls ask at once,
   * there is one record.
   * @returns `null` while a decline holds
   * @throws FST_MCP_CONNECT_RATE_LIMITED when this client has had too many new ones
   */
  request (client: NonNullable<Elicitation['client']>, wanted: Wanted): Promise<Link | null>
  /** The live elicitation of this principal, client and provider, which `request` would hand out again. Changes nothing. */
  current (client: NonNullable<Elicitation['client']>, subject: Subject): Promise<Current>
  /**
   * The live elicitation that waits on the connections page.
   * @param countFor the client whose limit a new one counts for; `null` when the user asks
   * @throws FST_MCP_CONNECT_RATE_LIMITED like `request`
   */
  offer (wanted: Wanted, countFor: Elicitation['client']): Promise<Link>
  /**
   * Something has ended that sessions wait for: of the links that clients were handed so far, none is handed out again,
   * so that none is of which somebody was told to wait no longer. They can still be used.
   * @returns the generation of the links that are handed out from now on
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
/** A link that is handed out again sooner is not said to be: a thousand calls at once are one time. */
const ASKED_ANEW_MS = 100
/** More than these would tell the user nothing. */
const MAX_REASONS = 5
/** More than the time that a token request and the vault may take. */
export const HOLD_MS = 30_000

export function elicitationHash (id: string): string {
  return hashFields('elicitation', id)
}

/** Names who asks, for what: an account of a principal at a provider, for one client or on the connections page. */
export function askerHash ({ principal, provider, account, another, client }: Subject & Pick<Elicitation, 'client'>): string {
  const wish = another === true ? ['another'] : account === undefined ? [] : ['account', account]
  return hashFields(hashConnection(principal, provider), ...client === null ? ['page'] : ['client', client.id], ...wish)
}

/** What audit events say of one. */
export function auditedElicitation (hash: string, { principal, provider }: Pick<Elicitation, 'principal' | 'provider'>): AuditedElicitation {
  return { ...auditIdsOf(principal), provider, elicitation: hash }
}

export function isPending ({ status, expiresAt }: Elicitation): boolean {
  return status === 'pending' && expiresAt > Date.now()
}

function isHeldByOther ({ heldBy }: Elicitation, holder: string | null): boolean {
  return heldBy !== undefined && heldBy.holder !== holder && heldBy.until > Date.now()
}

export interface ElicitationServices extends RecordServices {
  readonly declines: Declines
  /** Of new records, by principal and client. */
  readonly limiter: Limiter
  readonly audit: Audit
}

export function createElicitations (services: ElicitationServices, ttlMs: number): Elicitations {
  const { declines, limiter, audit } = services
  const records = createRecords<Elicitation>('elicitation', services)
  /** Which elicitation is the live one of who asks. */
  const live = createRecords<{ readonly id: string }>('live-elicitation', services)
  const rowTtlMs = ttlMs + AFTERLIFE_MS
  const generations = createGenerations('elicitation-generation', services, rowTtlMs)
  const shortestRestMs = Math.min(SHORTEST_REST_MS, ttlMs / 4)

  /** What waits on the connections page was handed to nobody. */
  const isRetired = (record: Elicitation, generation: number): boolean => record.client !== null && record.generation < generation

  /** What there is of an asker. */
  async function find (asker: string, { client, principal, provider }: Subject & Pick<Elicitation, 'client'>) {
    // Before the decline: a decline in between retires what is of this generation.
    const generation = await generations.current(hashConnection(principal, provider))
    // Whichever account was named: nobody gets around a no by naming another one.
    if (client !== null && await declines.has(askerHash({ principal, provider, client }), principal, provider)) return { kind: 'declined' } as const
    const pointer = await live.get(asker)
    const none = { kind: 'none', generation, pointer } as const
    if (pointer.record === null) return none
    const { id } = pointer.record
    const { record, revision } = await records.get(elicitationHash(id))
    if (record === null || !isPending(record) || isRetired(record, generation)) return none
    const link: Link = { id, generation: record.generation, expiresAt: record.expiresAt }
    return { ...none, kind: 'live', link, record, revision } as const
  }

  /** @param count counts a new record, once however often this is repeated */
  async function findOrCreate (asker: string, { client, ...wanted }: Wanted & Pick<Elicitation, 'client'>, count: () => Promise<void>): Promise<Link | null | typeof LOST> {
    const found = await find(asker, { ...wanted, client })
    if (found.kind === 'declined') return null
    const { generation, pointer } = found
    const now = Date.now()
    if (found.kind === 'live' && found.link.expiresAt - now > shortestRestMs) {
      const { link, record, revision } = found
      const wider = merge(record, wanted)
      const isWider = wider.scopes.length > record.scopes.length || wider.reasons.length > record.reasons.length
      if (!isWider && now - record.askedAt < ASKED_ANEW_MS) return link
      return await records.put(elicitationHash(link.id), { ...record, ...wider, askedAt: now }, revision) === null ? LOST : link
    }
    await count()
    const link = { id: randomToken(), generation, expiresAt: now + ttlMs }
    const hash = elicitationHash(link.id)
    const revision = await records.put(hash, { ...wanted, client, generation, expiresAt: link.expiresAt, askedAt: now, status: 'pending' }, null, rowTtlMs)
    if (revision === null) throw new StoreContentionError()
    if (await live.put(asker, { id: link.id }, pointer.revision, rowTtlMs) === null) {
      await records.delete(hash, revision)
      return LOST
    }
    audit('elicitation.created', { ...auditedElicitation(hash, wanted), ...client !== null && { client: hashClient(client.id) } })
    return link
  }

  async function ask (client: Elicitation['client'], wanted: Wanted, countFor: Elicitation['client']): Promise<Link | null> {
    const asker = askerHash({ ...wanted, client })
    // Those that count for different clients are not merged: they meet in the store, as those of different processes do.
    return await inTurn(hashFields(asker, countFor?.id ?? ''), { asker, wanted: { ...wanted, client }, countFor })
  }

  const inTurn = coalesce<Asked, Link | null>(
    (a, b) => ({ ...a, wanted: { ...a.wanted, ...merge(a.wanted, b.wanted) } }),
    async (_key, { asker, wanted, countFor }) => {
      const count = once(async () => {
        if (countFor !== null) await limiter.count(hashFields(hashPrincipal(wanted.principal), countFor.id))
      })
      return await untilWon(() => findOrCreate(asker, wanted, count))
    })

  /** Changes a pending record that nobody else holds, by compare-and-set. @param event what this is to the audit, if anything */
  async function change (hash: string, holder: string | null, step: (record: Elicitation) => Elicitation, event?: `elicitation.${Outcome}`): Promise<Turn> {
    return await untilWon<Turn>(async () => {
      const { record, revision } = await records.get(hash)
      if (record?.status !== 'pending') return 'over'
      if (isHeldByOther(record, holder)) return 'held'
      if (await records.put(hash, step(record), revision, rowTtlMs) === null) return LOST
      // It has neither ended nor released what it held, as when its process was killed.
      if (record.heldBy !== undefined && record.heldBy.holder !== holder) audit('exchange.orphan_possible', { ...auditedElicitation(hash, record), attempt: record.heldBy.holder })
      if (event !== undefined) audit(event, auditedElicitation(hash, record))
      return 'won'
    })
  }

  return {
    request: (client, wanted) => ask(client, wanted, client),

    async current (client, subject) {
      const found = await find(askerHash({ client, ...subject }), { client, ...subject })
      return found.kind === 'live' ? { kind: found.kind, link: found.link, askedAt: found.record.askedAt } : { kind: found.kind }
    },

    offer: async (wanted, countFor) => (await ask(null, wanted, countFor))!,

    retire: (principal, provider) => generations.begin(hashConnection(principal, provider)),

    async find (hash) {
      return (await records.get(hash)).record
    },

    async isLive (hash) {
      const { record } = await records.get(hash)
      if (record?.status !== 'pending') return false
      return !isRetired(record, await generations.current(hashConnection(record.principal, record.provider)))
    },

    hold: (hash, holder) => change(hash, holder, record => ({ ...record, heldBy: { holder, until: Date.now() + HOLD_MS } })),

    async release (hash, holder) {
      await change(hash, holder, ({ heldBy, ...record }) => record)
    },

    end: (hash, outcome, holder) => change(hash, holder, record => ({ ...record, status: outcome }), `elicitation.${outcome}`)
  }
}

function merge (a: Pick<Wanted, 'scopes' | 'reasons'>, b: Pick<Wanted, 'scopes' | 'reasons'>): Pick<Wanted, 'scopes' | 'reasons'> {
  return { scopes: [...new Set([...a.scopes, ...b.scopes])], reasons: [...new Set([...a.reasons, ...b.reasons])].slice(0, MAX_REASONS) }
}

function once<T> (work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined
  return async () => {
    result ??= work()
    return await result
  }
}
