import { LOST, untilWon } from '../compare-and-set.js'
import { hashConnection } from '../principal.js'
import { createGenerations } from '../state/generations.js'
import { createRecords, type RecordServices } from '../state/records.js'
import type { Principal } from '../types.js'

/** Who is not asked again for a while, since they said no. */
export interface Declines {
  /** @param asker who asked, by `askerHash` */
  add (asker: string, principal: Principal, provider: string): Promise<void>
  has (asker: string, principal: Principal, provider: string): Promise<boolean>
  /** The user begins by themselves: what they declined of this provider is void, for every client. */
  clear (principal: Principal, provider: string): Promise<void>
}

/** A generation outlives every decline by this time. */
const MARGIN_MS = 60 * 60_000

export function createDeclines (services: RecordServices, coolDownMs: number): Declines {
  const records = createRecords<{ readonly generation: number }>('decline', services)
  const generations = createGenerations('decline-generation', services, coolDownMs + MARGIN_MS)
  return {
    async add (asker, principal, provider) {
      if (coolDownMs === 0) return
      const generation = await generations.current(hashConnection(principal, provider))
      await untilWon(async () => {
        const { revision } = await records.get(asker)
        return await records.put(asker, { generation }, revision, coolDownMs) ?? LOST
      })
    },

    async has (asker, principal, provider) {
      const { record } = await records.get(asker)
      return record !== null && await generations.current(hashConnection(principal, provider)) <= record.generation
    },

    async clear (principal, provider) {
      await generations.begin(hashConnection(principal, provider))
    }
  }
}
