import type { Audit } from '../audit-events.js'
import { LOST, untilWon } from '../compare-and-set.js'
import { hashFields } from '../encoding.js'
import { SealBrokenError } from '../errors.js'
import { auditIdsOf, hashPrincipal } from '../principal.js'
import { randomToken } from '../random.js'
import type { Revision, Stored, TokenVault } from '../storage.js'
import type { Grant, Principal } from '../types.js'
import type { Sealer } from '../vault/sealer.js'
import { grantContext } from './grant-context.js'
import type { Resealing } from './resealing.js'
import { missingScopes } from './scopes.js'

/** What the vault holds for one principal at one provider. */
export interface VaultEntry {
  /** Names this grant, however often it is sealed anew. */
  readonly id: string
  readonly grant: Grant
  /** Who granted it. */
  readonly issuer: string
  /** Epoch milliseconds. */
  readonly connectedAt: number
}

/**
 * What a look into the vault finds. An entry can be `unreadable`, and it can be of another issuer than the one that is
 * configured: then it is no connection to this provider (`foreign`). Both can be replaced and removed.
 */
export type Lookup =
  | { readonly kind: 'none', readonly revision: null }
  | { readonly kind: 'unreadable', readonly revision: Revision, readonly error: SealBrokenError }
  | { readonly kind: 'foreign' | 'usable', readonly revision: Revision, readonly entry: VaultEntry }

/** Whether nobody has granted or removed anything between two looks. Sealing anew changes the revision, and nothing else. */
export function isUnchanged (before: Lookup, now: Lookup): boolean {
  return 'entry' in before && 'entry' in now ? before.entry.id === now.entry.id : before.revision === now.revision
}

/** The connections of all principals, in the vault. There is no look-up without a principal. */
export interface Connections {
  /** @param issuer the provider's configured issuer */
  look (principal: Principal, provider: string, issuer: string): Promise<Lookup>
  /**
   * Stores a new grant in place of what is there. It remembers what was withheld before, so that this is not asked for in
   * turns with something else.
   * @param check runs before each attempt, and throws when the grant must not be stored any longer
   * @returns the entry's id, for `remove`
   */
  save (principal: Principal, provider: string, issuer: string, grant: Grant, check: () => Promise<void>): Promise<string>
  /** Forgets the grant, whichever it is or the one with this id. @returns `false` when it was not there */
  remove (principal: Principal, provider: string, id?: string): Promise<boolean>
}

interface ConnectionsServices {
  readonly vault: TokenVault
  readonly sealer: Sealer
  readonly resealing: Pick<Resealing, 'lazily'>
  readonly audit: Audit
}

export function createConnections ({ vault, sealer, resealing, audit }: ConnectionsServices): Connections {
  const address = (principal: Principal, provider: string): [owner: string, name: string] =>
    [hashPrincipal(principal), hashFields('provider', provider)]

  function open (stored: Stored | null, owner: string, name: string, issuer: string): Lookup {
    if (stored === null) return { kind: 'none', revision: null }
    const { revision } = stored
    try {
      const entry = JSON.parse(sealer.open(stored.value, grantContext(owner, name))) as VaultEntry
      return { kind: entry.issuer === issuer ? 'usable' : 'foreign', revision, entry }
    } catch (error) {
      if (error instanceof SealBrokenError) return { kind: 'unreadable', revision, error }
      throw error
    }
  }

  return {
    async look (principal, provider, issuer) {
      const [owner, name] = address(principal, provider)
      const stored = await vault.get(owner, name)
      const lookup = open(stored, owner, name, issuer)
      if (lookup.kind === 'unreadable') {
        const { code, message, keyId } = lookup.error
        audit('vault.decrypt_failed', { ...auditIdsOf(principal), provider, keyId }, { code, reason: message })
      } else if (stored !== null && sealer.isOutdated(stored.value)) resealing.lazily(owner, name)
      return lookup
    },

    async save (principal, provider, issuer, grant, check) {
      const [owner, name] = address(principal, provider)
      const saved = await untilWon(async () => {
        const stored = await vault.get(owner, name)
        const previous = open(stored, owner, name, issuer)
        const withheld = previous.kind === 'usable' ? missingScopes(previous.entry.grant, previous.entry.grant.requestedScopes) : []
        const requestedScopes = [...new Set([...withheld, ...grant.requestedScopes])]
        const entry: VaultEntry = { id: randomToken(), grant: { ...grant, requestedScopes }, issuer, connectedAt: Date.now() }
        const sealed = sealer.seal(JSON.stringify(entry), grantContext(owner, name))
        await check()
        return await vault.put(owner, name, sealed, stored?.revision ?? null) === null ? LOST : entry.id
      })
      audit('vault.written', { ...auditIdsOf(principal), provider })
      return saved
    },

    async remove (principal, provider, id) {
      const [owner, name] = address(principal, provider)
      const removed = await untilWon(async () => {
        const stored = await vault.get(owner, name)
        if (stored === null || (id !== undefined && idOf(open(stored, owner, name, '')) !== id)) return false
        return await vault.delete(owner, name, stored.revision) || LOST
      })
      if (removed) audit('vault.deleted', { ...auditIdsOf(principal), provider })
      return removed
    }
  }
}

function idOf (lookup: Lookup): string | undefined {
  return 'entry' in lookup ? lookup.entry.id : undefined
}
