import type { AtProvider } from '../account.js'
import type { Audit } from '../audit-events.js'
import type { RemovalReport } from '../decorator.js'
import { auditIdsOf } from '../principal.js'
import type { Disconnected, Principal } from '../types.js'
import { UNKNOWN_PROVIDER, type Choose, type Connections } from './connections.js'
import type { StoredGrant } from './entry.js'
import type { Prepared, Revocations } from './revocations.js'

/** Ends connections: what is stored here first, then what the provider has. */
export interface Disconnecting {
  /**
   * All accounts of a principal at a provider, or the one that is chosen or has this id.
   * @returns what became of each grant that was there
   */
  disconnect (principal: Principal, provider: string, which?: string | Choose): Promise<readonly Disconnected[]>
  /** All that there is of a principal. */
  removePrincipal (principal: Principal): Promise<RemovalReport>
}

interface DisconnectingServices {
  readonly connections: Pick<Connections, 'remove' | 'removeAll'>
  readonly revocations: Pick<Revocations, 'prepare' | 'carryOut' | 'abandon'>
  readonly providers: ReadonlyMap<string, unknown>
  /** What is under way must not bring back what is disconnected. */
  endFlows (principal: Principal, provider: string): Promise<void>
  endSessions (principal: Principal): Promise<void>
  readonly audit: Audit
}

const NONE: Readonly<Record<AtProvider, number>> = { revoked: 0, later: 0, unsupported: 0, refused: 0, spared: 0, unconfigured: 0, unreadable: 0, lost: 0 }

export function createDisconnecting ({ connections, revocations, providers, endFlows, endSessions, audit }: DisconnectingServices): Disconnecting {
  const unreadable = (principal: Principal, provider: string): Disconnected => {
    audit('revocation.failed', { ...auditIdsOf(principal), provider, cause: 'unreadable' })
    return { account: undefined, atProvider: 'unreadable' }
  }

  async function carryOut (all: readonly Prepared[]): Promise<readonly Disconnected[]> {
    return await Promise.all(all.map(async prepared => ({ account: prepared.pending.grant.account, atProvider: await revocations.carryOut(prepared) })))
  }

  /** Remembers what is about to be deleted. @param last what an attempt has remembered that lost its race */
  async function prepare (principal: Principal, provider: string, grants: readonly StoredGrant[], last: readonly Prepared[] = []): Promise<readonly Prepared[]> {
    await Promise.all(last.map(revocations.abandon))
    return await Promise.all(grants.map(async grant => await revocations.prepare(principal, provider, grant)))
  }

  return {
    async disconnect (principal, provider, which) {
      await endFlows(principal, provider)
      let prepared: readonly Prepared[] = []
      const removed = await connections.remove(principal, provider, which, async grants => { prepared = await prepare(principal, provider, grants, prepared) })
      if (removed === null) await Promise.all(prepared.map(revocations.abandon))      // somebody else was quicker, and tells the provider
      if (removed === null) return []
      return removed.length === 0 ? [unreadable(principal, provider)] : await carryOut(prepared)
    },

    async removePrincipal (principal) {
      await Promise.all([...providers.keys()].map(async key => await endFlows(principal, key)))
      await endSessions(principal)
      const prepared = new Map<string, readonly Prepared[]>()
      const removed = await connections.removeAll(principal, providers.keys(), async ({ name, provider, grants }) => {
        prepared.set(name, await prepare(principal, provider ?? UNKNOWN_PROVIDER, grants, prepared.get(name)))
      })
      const unread = removed.filter(({ grants }) => grants.length === 0).map(({ provider }) => unreadable(principal, provider ?? UNKNOWN_PROVIDER))
      const grants = { ...NONE }
      for (const { atProvider } of [...unread, ...await carryOut([...prepared.values()].flat())]) grants[atProvider]++
      return { connections: removed.length, grants }
    }
  }
}
