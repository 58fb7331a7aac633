import { timingSafeEqual } from 'node:crypto'
import { hashFields } from '../encoding.js'
import { StoreContentionError } from '../errors.js'
import { hashConnection } from '../principal.js'
import { createGenerations } from '../state/generations.js'
import { createRecords, type RecordServices } from '../state/records.js'
import type { Principal } from '../types.js'

/** One browser attempt at an interaction. */
export interface Flow {
  readonly elicitationId: string
  readonly provider: string
  /** Where the user was sent, as whom, and where the answer comes back: what is configured now must be the same. */
  readonly issuer: string
  readonly clientId: string
  readonly redirectUri: string
  readonly scopes: readonly string[]
  readonly codeVerifier: string
  readonly nonce?: string
  readonly cookieHash: string
  readonly status: 'started' | 'claimed'
  /** A disconnect begins the next one. */
  readonly generation: number
  /** Epoch milliseconds. */
  readonly expiresAt: number
}

export interface Flows {
  start (state: string, principal: Principal, flow: Omit<Flow, 'status' | 'generation' | 'expiresAt'>): Promise<void>
  find (state: string): Promise<Flow | null>
  /** Spends the flow. Of all that try, one gets `true`, and that one alone may send the token request. */
  claim (state: string): Promise<boolean>
  /** Ends all flows of a principal at a provider that have been started so far: what was disconnected does not come back by itself. */
  revoke (principal: Principal, provider: string): Promise<void>
  /** Also `true` when the record of it is gone. A store that goes back to an older record is not noticed. */
  isRevoked (flow: Pick<Flow, 'provider' | 'generation'>, principal: Principal): Promise<boolean>
}

/** How long the user has at the provider. */
export const FLOW_TTL_MS = 10 * 60_000
/** A flow's record outlives it, so that a late answer is told "expired" and not "unknown". */
const AFTERLIFE_MS = 60 * 60_000

export function hashFlowCookie (cookie: string): string {
  return hashFields('flow cookie', cookie)
}

export function matchesFlowCookie (flow: Flow, cookie: string): boolean {
  return timingSafeEqual(Buffer.from(flow.cookieHash, 'hex'), Buffer.from(hashFlowCookie(cookie), 'hex'))
}

export function createFlows (services: RecordServices): Flows {
  const records = createRecords<Flow>('flow', services)
  const generations = createGenerations('flow-generation', services, FLOW_TTL_MS + AFTERLIFE_MS)
  const keyOf = (state: string): string => hashFields('state', state)
  return {
    async start (state, principal, flow) {
      const generation = await generations.keep(hashConnection(principal, flow.provider))
      const record: Flow = { ...flow, status: 'started', generation, expiresAt: Date.now() + FLOW_TTL_MS }
      if (await records.put(keyOf(state), record, null, FLOW_TTL_MS + AFTERLIFE_MS) === null) throw new StoreContentionError()
    },

    async find (state) {
      return (await records.get(keyOf(state))).record
    },

    async revoke (principal, provider) {
      await generations.begin(hashConnection(principal, provider))
    },

    async isRevoked ({ provider, generation }, principal) {
      return generation !== await generations.current(hashConnection(principal, provider))
    },

    async claim (state) {
      const { record, revision } = await records.get(keyOf(state))
      if (record?.status !== 'started') return false
      return await records.put(keyOf(state), { ...record, status: 'claimed' }, revision) !== null
    }
  }
}
