import { createRecords, type RecordServices } from '../state/records.js'
import type { Grant } from '../types.js'
import type { Flow } from './flows.js'

/** A grant of another account than the one that it was to renew. It is in nobody's place before its user has said so. */
export interface UndecidedGrant {
  readonly grant: Grant
  /** The id of the grant that it would replace. */
  readonly replaces: string
  /** The flow that brought it, without its secrets. */
  readonly flow: Pick<Flow, 'provider' | 'issuer' | 'clientId' | 'scopes' | 'generation'>
  /** The name of the attempt in audit events. */
  readonly attempt: string
}

/** One for each elicitation, by its hash. */
export interface UndecidedGrants {
  keep (hash: string, undecided: UndecidedGrant): Promise<void>
  find (hash: string): Promise<UndecidedGrant | null>
  /** Forgets it. Of all that try, one gets it. */
  take (hash: string): Promise<UndecidedGrant | null>
}

/** How long a user has to decide. */
export const DECISION_TTL_MS = 15 * 60_000
/** How long what was decided in the last moment may take. */
export const DECISION_MS = 2 * 60_000

export function createUndecidedGrants (services: RecordServices): UndecidedGrants {
  const records = createRecords<UndecidedGrant>('undecided-grant', services)
  return {
    async keep (hash, undecided) {
      const { revision } = await records.get(hash)
      await records.put(hash, undecided, revision, DECISION_TTL_MS)
    },

    async find (hash) {
      return (await records.get(hash)).record
    },

    async take (hash) {
      const { record, revision } = await records.get(hash)
      return record !== null && await records.delete(hash, revision!) ? record : null
    }
  }
}
