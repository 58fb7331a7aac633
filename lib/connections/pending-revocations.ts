import { LOST, untilWon } from '../compare-and-set.js'
import { hashFields } from '../encoding.js'
import { randomToken } from '../random.js'
import { createRecords, type RecordServices } from '../state/records.js'
import type { Grant, Principal } from '../types.js'

/** A grant that is to be ended at its provider. */
export interface PendingRevocation {
  readonly id: string
  readonly principal: Principal
  /** The provider's key, and the registration that it was granted to. */
  readonly provider: string
  readonly issuer: string
  readonly clientId: string
  readonly grant: Pick<Grant, 'accessToken' | 'refreshToken' | 'account'>
  readonly failures: number
  /** Epoch milliseconds: when somebody shall see to it (again). */
  readonly dueAt: number
  /** Epoch milliseconds: nobody tries any more. */
  readonly givesUpAt: number
  /** Whoever sees to it; `null` when nobody has yet. It is theirs until it is due. */
  readonly claim: string | null
}

/** What is to be done by whichever process: a few lists in the state store, so that those that are due are found. */
export interface PendingRevocations {
  /** @returns `false` when all lists are full */
  add (pending: PendingRevocation): Promise<boolean>
  /** Takes over some of those that are due: of all that try, one gets each. None when there are none in this list. */
  claimDue (list: number): Promise<readonly PendingRevocation[]>
  /** Puts the next state in the place of one, or removes it. @returns `false` when it is not there any more, or somebody else has taken it over */
  settle (pending: Pick<PendingRevocation, 'id' | 'claim'>, next: PendingRevocation | null): Promise<boolean>
}

export const LISTS = 16
export const MAX_LENGTH = 50
/** Longer than it takes to look up metadata and to send two requests, so that nobody else begins meanwhile. */
export const CLAIM_MS = 2 * 60_000
const BATCH = 10
const DAY_MS = 24 * 60 * 60_000
/** For so long a provider is tried. Nothing of a grant is kept for longer than a day after that. */
export const PATIENCE_MS = 7 * DAY_MS
const TTL_MS = PATIENCE_MS + DAY_MS

export function createPendingRevocations (services: RecordServices): PendingRevocations {
  const records = createRecords<readonly PendingRevocation[]>('revocations', services)
  const keyOf = (list: number): string => hashFields('revocations', String(list))

  /** Where one belongs, and where it may be if there is no room. */
  function listsOf ({ id }: Pick<PendingRevocation, 'id'>): readonly number[] {
    const first = Number.parseInt(hashFields('revocation', id).slice(0, 8), 16)
    return Array.from({ length: LISTS }, (_, i) => (first + i) % LISTS)
  }

  /** @param step gives the next list, or `null` to leave it as it is @returns whether it was changed */
  async function rewrite (list: number, step: (pending: readonly PendingRevocation[]) => readonly PendingRevocation[] | null): Promise<boolean> {
    const key = keyOf(list)
    return await untilWon(async () => {
      const { record, revision } = await records.get(key)
      const next = step(record ?? [])
      if (next === null) return false
      if (next.length === 0) return revision === null || await records.delete(key, revision) || LOST
      return await records.put(key, next, revision, TTL_MS) !== null || LOST
    })
  }

  async function rewriteFirst (lists: readonly number[], step: Parameters<typeof rewrite>[1]): Promise<boolean> {
    for (const list of lists) {
      if (await rewrite(list, step)) return true
    }
    return false
  }

  return {
    add: async pending => await rewriteFirst(listsOf(pending), list => list.length < MAX_LENGTH ? [...list, pending] : null),

    async claimDue (list) {
      const claim = randomToken()
      let claimed: readonly PendingRevocation[] = []
      const won = await rewrite(list, all => {
        const now = Date.now()
        const due = all.filter(({ dueAt }) => dueAt <= now).slice(0, BATCH)
        claimed = due.map(one => ({ ...one, claim, dueAt: now + CLAIM_MS }))
        return due.length === 0 ? null : all.map(one => claimed[due.indexOf(one)] ?? one)
      })
      return won ? claimed : []
    },

    settle: async (pending, next) => await rewriteFirst(listsOf(pending), list => {
      const isIt = ({ id, claim }: PendingRevocation): boolean => id === pending.id && claim === pending.claim
      return list.some(isIt) ? list.flatMap(one => !isIt(one) ? [one] : next ?? []) : null
    })
  }
}
