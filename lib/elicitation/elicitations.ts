import { randomBytes } from 'node:crypto'
import { hashFields } from '../encoding.js'
import { StoreContentionError } from '../errors.js'
import { principalFields } from '../principal.js'
import type { Principal, StateStore } from '../types.js'
import type { Sealer } from '../vault/sealer.js'
import { createRecords } from './records.js'

/** One request for user interaction. */
export interface Elicitation {
  readonly principal: Principal
  /** The MCP client that it was handed to; `null` when the user began on the connections page. */
  readonly client: { readonly id: string, readonly name?: string } | null
  readonly provider: string
  readonly scopes: readonly string[]
  readonly reason?: string
  readonly status: 'pending' | Outcome
  /** Epoch milliseconds: until then the link can be used. */
  readonly expiresAt: number
  /** Epoch milliseconds; present once the status is final. */
  readonly endedAt?: number
}

export type Outcome = 'completed' | 'declined' | 'failed'

export type ElicitationRequest = Pick<Elicitation, 'principal' | 'client' | 'provider' | 'scopes' | 'reason'>

export interface Elicitations {
  /**
   * The live elicitation for this principal, client and provider: the pending one, widened to the wanted scopes, or a
   * new one. However many calls ask at once, there is one record.
   * @returns its id, or `null` while the user's decline is younger than the cool-down
   */
  request (wanted: ElicitationRequest): Promise<{ readonly id: string, readonly expiresAt: number } | null>
  /** @param hash of the id; the id itself is not stored in the clear */
  find (hash: string): Promise<Elicitation | null>
  /** Moves a pending record to its final status. @returns `false` when it is final already, or gone */
  end (hash: string, outcome: Outcome): Promise<boolean>
}

/** A record outlives its link by this time, so that a late visitor is told "expired" and not "unknown". */
const AFTERLIFE_MS = 60 * 60_000
/** A link with less left is not handed out again; with short lifetimes it is a quarter of them. */
const SHORTEST_REST_MS = 60_000
/** Compare-and-set is tried this often before contention is an error. */
const ATTEMPTS = 20

export function elicitationHash (id: string): string {
  return hashFields('elicitation', id)
}

export function isPending ({ status, expiresAt }: Elicitation): boolean {
  return status === 'pending' && expiresAt > Date.now()
}

export function createElicitations (
  { state, sealer, ttlMs, declineCoolDownMs }:
  { state: StateStore, sealer: Sealer, ttlMs: number, declineCoolDownMs: number }): Elicitations {
  const records = createRecords<Elicitation>('elicitation', state, sealer)
  /** Which elicitation is the live one for a principal, client and provider. */
  const live = createRecords<{ id: string }>('live-elicitation', state, sealer)
  const shortestRestMs = Math.min(SHORTEST_REST_MS, ttlMs / 4)
  const rowTtlMs = Math.max(ttlMs, declineCoolDownMs) + AFTERLIFE_MS

  /** The last request for each live elicitation in this process: one at a time, or they would race each other. */
  const turns = new Map<string, Promise<unknown>>()

  async function inTurn<T> (key: string, work: () => Promise<T>): Promise<T> {
    const turn = (turns.get(key) ?? Promise.resolve()).then(work, work)
    turns.set(key, turn)
    try {
      return await turn
    } finally {
      if (turns.get(key) === turn) turns.delete(key)
    }
  }

  async function attempt (liveKey: string, wanted: ElicitationRequest): Promise<{ id: string, expiresAt: number } | 'declined' | 'again'> {
    const pointer = await live.get(liveKey)
    const current = pointer === null ? null : await records.get(elicitationHash(pointer.record.id))
    if (pointer !== null && current !== null) {
      const { record, revision } = current
      const coolDownEnds = (record.endedAt ?? 0) + declineCoolDownMs
      if (record.status === 'declined' && coolDownEnds > Date.now() && wanted.client !== null) return 'declined'
      if (isPending(record) && record.expiresAt - Date.now() > shortestRestMs) {
        const scopes = [...new Set([...record.scopes, ...wanted.scopes])]
        const handed = { id: pointer.record.id, expiresAt: record.expiresAt }
        if (scopes.length === record.scopes.length) return handed
        return await records.put(elicitationHash(handed.id), { ...record, scopes }, revision) ? handed : 'again'
      }
    }
    const id = randomBytes(32).toString('base64url')
    const hash = elicitationHash(id)
    const expiresAt = Date.now() + ttlMs
    await records.put(hash, { ...wanted, status: 'pending', expiresAt }, null, rowTtlMs)
    if (await live.put(liveKey, { id }, pointer?.revision ?? null, rowTtlMs)) return { id, expiresAt }
    const orphan = await records.get(hash)
    if (orphan !== null) await records.delete(hash, orphan.revision)
    return 'again'
  }

  return {
    async request (wanted) {
      const liveKey = hashFields('live', ...principalFields(wanted.principal), wanted.client?.id ?? '', wanted.client === null ? 'page' : 'client', wanted.provider)
      return await inTurn(liveKey, async () => {
        for (let i = 0; i < ATTEMPTS; i++) {
          const result = await attempt(liveKey, wanted)
          if (result !== 'again') return result === 'declined' ? null : result
        }
        throw new StoreContentionError()
      })
    },

    async find (hash) {
      return (await records.get(hash))?.record ?? null
    },

    async end (hash, outcome) {
      for (let i = 0; i < ATTEMPTS; i++) {
        const found = await records.get(hash)
        if (found === null || found.record.status !== 'pending') return false
        const ended: Elicitation = { ...found.record, status: outcome, endedAt: Date.now() }
        if (await records.put(hash, ended, found.revision, rowTtlMs)) return true
      }
      throw new StoreContentionError()
    }
  }
}
