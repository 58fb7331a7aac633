import type { Audit } from '../audit-events.js'
import { LOST, untilWon } from '../compare-and-set.js'
import { hashFields } from '../encoding.js'
import { SealBrokenError } from '../errors.js'
import { auditIdsOf, hashPrincipal } from '../principal.js'
import { randomToken } from '../random.js'
import type { Revision, Stored, TokenVault } from '../storage.js'
import type { Grant, Principal, Provider } from '../types.js'
import type { Sealer } from '../vault/sealer.js'
import { isSameAccount, isSameVersion, withGrant, withoutGrants, type StoredGrant, type VaultEntry } from './entry.js'
import { grantContext } from './grant-context.js'
import type { Resealing } from './resealing.js'
import { missingScopes } from './scopes.js'

/**
 * What a look into the vault finds. An entry can be `unreadable`, and its grants can all be of another issuer than the one that is
 * configured: then it is no connection to this provider (`foreign`). Both can be replaced and removed.
 */
export type Lookup =
  | { readonly kind: 'none', readonly revision: null }
  | { readonly kind: 'unreadable', readonly revision: Revision, readonly error: SealBrokenError }
  | { readonly kind: 'foreign' | 'usable', readonly revision: Revision, readonly entry: VaultEntry }

/** Whether nobody has granted, lost or removed anything between two looks. Sealing anew and refreshing change the revision, and nothing else. */
export function isUnchanged (before: Lookup, now: Lookup): boolean {
  return 'entry' in before && 'entry' in now ? namesOf(before.entry) === namesOf(now.entry) : before.revision === now.revision
}

function namesOf ({ accounts }: VaultEntry): string {
  return accounts.map(({ id, deadAt }) => id + (deadAt === undefined ? '' : ' dead')).join()
}

/** The connections of all principals, in the vault. There is no look-up without a principal. */
export interface Connections {
  look (principal: Principal, provider: string, registration: Pick<Provider, 'issuer'>): Promise<Lookup>
  /**
   * Stores a new grant in place of that of the same account, of the one with the id `replaces`, and of those of other issuers.
   * It remembers what was withheld before, so that this is not asked for in turns with something else.
   * @param check runs before each attempt, and throws when the grant must not be stored any longer
   */
  save (principal: Principal, provider: string, registration: Provider, grant: Grant, replaces: string | null, check: () => Promise<void>): Promise<StoredGrant>
  /**
   * Changes a grant, if it still is of the version that was read.
   * @returns whether it was changed, and what there is now: `null` when it is gone
   */
  change (principal: Principal, provider: string, read: StoredGrant, step: (stored: StoredGrant) => StoredGrant): Promise<{ readonly changed: boolean, readonly now: StoredGrant | null }>
  /** Makes an account the default. @returns `false` when it was not there */
  makeDefault (principal: Principal, provider: string, id: string): Promise<boolean>
  /** Forgets grants: all, or the one with this id. @returns `null` when there was nothing; what cannot be read is forgotten too, and not told */
  remove (principal: Principal, provider: string, id?: string): Promise<readonly StoredGrant[] | null>
}

interface ConnectionsServices {
  readonly vault: TokenVault
  readonly sealer: Sealer
  readonly resealing: Pick<Resealing, 'lazily'>
  readonly audit: Audit
}

type Change = { readonly entry: VaultEntry | null } | null

export function createConnections ({ vault, sealer, resealing, audit }: ConnectionsServices): Connections {
  const address = (principal: Principal, provider: string): [owner: string, name: string] =>
    [hashPrincipal(principal), hashFields('provider', provider)]

  /** @throws FST_MCP_CONNECT_SEAL_BROKEN */
  function open (stored: Stored, owner: string, name: string): VaultEntry {
    return JSON.parse(sealer.open(stored.value, grantContext(owner, name))) as VaultEntry
  }

  function openIfReadable (stored: Stored, owner: string, name: string): VaultEntry | SealBrokenError {
    try {
      return open(stored, owner, name)
    } catch (error) {
      if (error instanceof SealBrokenError) return error
      throw error
    }
  }

  /**
   * Reads and writes an entry until it has won.
   * @param step gives the entry that is to be there, `null` for none; or `null` to leave it as it is. It is given `null` when there is none that can be read
   */
  async function rewrite (principal: Principal, provider: string, step: (entry: VaultEntry | null) => Change, check?: () => Promise<void>): Promise<'written' | 'removed' | 'left'> {
    const [owner, name] = address(principal, provider)
    return await untilWon(async () => {
      const stored = await vault.get(owner, name)
      const found = stored === null ? null : openIfReadable(stored, owner, name)
      const change = step(found instanceof SealBrokenError ? null : found)
      if (change === null) return 'left'
      if (change.entry === null) return stored === null ? 'left' : await vault.delete(owner, name, stored.revision) ? 'removed' : LOST
      const sealed = sealer.seal(JSON.stringify(change.entry), grantContext(owner, name))
      await check?.()
      return await vault.put(owner, name, sealed, stored?.revision ?? null) === null ? LOST : 'written'
    })
  }

  return {
    async look (principal, provider, { issuer }) {
      const [owner, name] = address(principal, provider)
      const stored = await vault.get(owner, name)
      if (stored === null) return { kind: 'none', revision: null }
      const { revision } = stored
      const found = openIfReadable(stored, owner, name)
      if (found instanceof SealBrokenError) {
        const { code, message, keyId } = found
        audit('vault.decrypt_failed', { ...auditIdsOf(principal), provider, keyId }, { code, reason: message })
        return { kind: 'unreadable', revision, error: found }
      }
      if (sealer.isOutdated(stored.value)) resealing.lazily(owner, name)
      const entry = withoutGrants(found, one => one.issuer !== issuer)
      return entry === null ? { kind: 'foreign', revision, entry: found } : { kind: 'usable', revision, entry }
    },

    async save (principal, provider, registration, grant, replaces, check) {
      const { issuer, clientId } = registration
      const id = randomToken()
      let saved: StoredGrant | undefined
      await rewrite(principal, provider, entry => {
        const own = entry === null ? null : withoutGrants(entry, one => one.issuer !== issuer)
        const previous = own?.accounts.find(one => one.id === replaces || isSameAccount(one.grant.account, grant.account))
        const withheld = previous === undefined ? [] : missingScopes(registration, previous.grant, previous.grant.requestedScopes)
        const requestedScopes = [...new Set([...withheld, ...grant.requestedScopes])]
        const now = Date.now()
        saved = { id, version: 0, grant: { ...grant, requestedScopes }, issuer, clientId, connectedAt: now, obtainedAt: now }
        return { entry: withGrant(own, saved, replaces) }
      }, check)
      audit('vault.written', { ...auditIdsOf(principal), provider })
      return saved!
    },

    async change (principal, provider, read, step) {
      let now: StoredGrant | null = null
      const outcome = await rewrite(principal, provider, entry => {
        now = entry?.accounts.find(({ id }) => id === read.id) ?? null
        if (entry === null || now === null || !isSameVersion(now, read)) return null
        const next = step(now)
        now = next
        return { entry: { accounts: entry.accounts.map(one => one.id === read.id ? next : one) as unknown as VaultEntry['accounts'] } }
      })
      return { changed: outcome === 'written', now }
    },

    async makeDefault (principal, provider, id) {
      const outcome = await rewrite(principal, provider, entry => {
        const chosen = entry?.accounts.find(one => one.id === id)
        return chosen === undefined ? null : { entry: { accounts: [chosen, ...entry!.accounts.filter(one => one !== chosen)] } }
      })
      return outcome === 'written'
    },

    async remove (principal, provider, id) {
      let removed: readonly StoredGrant[] = []
      const outcome = await rewrite(principal, provider, entry => {
        removed = entry?.accounts.filter(one => id === undefined || one.id === id) ?? []
        if (id === undefined) return { entry: null }
        return removed.length === 0 ? null : { entry: withoutGrants(entry!, one => one.id === id) }
      })
      if (outcome === 'left') return null
      audit('vault.deleted', { ...auditIdsOf(principal), provider })
      return removed
    }
  }
}
