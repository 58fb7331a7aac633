import type { Audit, AuditedConnection } from '../audit-events.js'
import { LOST, untilWon } from '../compare-and-set.js'
import { hashFields } from '../encoding.js'
import { AdapterInvalidError, SealBrokenError, StoreContentionError } from '../errors.js'
import { auditIdsOf, hashPrincipal } from '../principal.js'
import { randomToken } from '../random.js'
import type { Revision, Stored, TokenVault } from '../storage.js'
import type { Grant, Principal, Provider } from '../types.js'
import type { Sealer } from '../vault/sealer.js'
import { findGrant, isSameAccount, isSameVersion, withGrant, withoutGrants, type StoredGrant, type VaultEntry } from './entry.js'
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

/** A grant that was stored, and those of other accounts in whose place it came: nothing here knows them any longer. */
export interface Saved {
  readonly saved: StoredGrant
  readonly displaced: readonly StoredGrant[]
}

/** The connections of all principals, in the vault. There is no look-up without a principal. */
export interface Connections {
  look (principal: Principal, provider: string, registration: Pick<Provider, 'issuer'>): Promise<Lookup>
  /**
   * Stores a new grant in place of that of the same account, of the one with the id `replaces`, and of those of other issuers.
   * It remembers what was withheld before, so that this is not asked for in turns with something else.
   * @param check runs before each attempt, and throws when the grant must not be stored any longer
   */
  save (principal: Principal, provider: string, registration: Provider, grant: Grant, replaces: string | null, check: () => Promise<void>): Promise<Saved>
  /**
   * Changes a grant, if it still is of the version that was read.
   * @returns whether it was changed, and what there is now: `null` when it is gone
   * @throws FST_MCP_CONNECT_SEAL_BROKEN when it cannot be read
   */
  change (principal: Principal, provider: string, read: StoredGrant, step: (stored: StoredGrant) => StoredGrant): Promise<{ readonly changed: boolean, readonly now: StoredGrant | null }>
  /** Makes an account the default. @returns `false` when it was not there */
  makeDefault (principal: Principal, provider: string, id: string): Promise<boolean>
  /**
   * Forgets grants: all, or the one that is chosen or has this id.
   * @param before runs before each attempt to delete, with what is about to be deleted
   * @returns what was forgotten: `null` when there was nothing; none when it could not be read
   */
  remove (principal: Principal, provider: string, which?: string | Choose, before?: Before): Promise<readonly StoredGrant[] | null>
  /**
   * Forgets all entries of a principal, also those of other providers than these, whose keys nobody knows any more.
   * @param before runs before each attempt to delete one
   */
  removeAll (principal: Principal, providers: Iterable<string>, before: (entry: RemovedEntry) => Promise<void>): Promise<readonly RemovedEntry[]>
}

export type Choose = (entry: VaultEntry) => StoredGrant | undefined
type Before = (grants: readonly StoredGrant[]) => Promise<void>

/** An entry that was deleted, or is about to be. */
export interface RemovedEntry {
  readonly name: string
  /** The key of the provider; `null` when it is none of those that are known. */
  readonly provider: string | null
  /** None when it cannot be read. */
  readonly grants: readonly StoredGrant[]
}

interface ConnectionsServices {
  readonly vault: TokenVault
  readonly sealer: Sealer
  readonly resealing: Pick<Resealing, 'lazily'>
  readonly audit: Audit
}

type Change = { readonly entry: VaultEntry | null } | null
type Address = readonly [owner: string, name: string]

/** What a provider is called in audit events whose key nobody knows. */
export const UNKNOWN_PROVIDER = '?'
const PAGE = 100
/** How often all entries of somebody are looked for: another call may store one in between. */
const ROUNDS = 5

export function createConnections ({ vault, sealer, resealing, audit }: ConnectionsServices): Connections {
  const address = (principal: Principal, provider: string): Address => [hashPrincipal(principal), hashFields('provider', provider)]

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
  async function rewrite ([owner, name]: Address, step: (entry: VaultEntry | null, error: SealBrokenError | null) => Change, check?: () => Promise<void>): Promise<'written' | 'removed' | 'left'> {
    return await untilWon(async () => {
      const stored = await vault.get(owner, name)
      const found = stored === null ? null : openIfReadable(stored, owner, name)
      const change = found instanceof SealBrokenError ? step(null, found) : step(found, null)
      if (change === null) return 'left'
      if (change.entry === null && stored === null) return 'left'
      const sealed = change.entry === null ? null : sealer.seal(JSON.stringify(change.entry), grantContext(owner, name))
      await check?.()
      if (sealed === null) return await vault.delete(owner, name, stored!.revision) ? 'removed' : LOST
      return await vault.put(owner, name, sealed, stored?.revision ?? null) === null ? LOST : 'written'
    })
  }

  async function removeAt (at: Address, facts: AuditedConnection, which: string | Choose | undefined, before: Before | undefined): Promise<readonly StoredGrant[] | null> {
    let removed: readonly StoredGrant[] = []
    const outcome = await rewrite(at, entry => {
      if (which === undefined) {
        removed = entry?.accounts ?? []
        return { entry: null }
      }
      const chosen = entry === null ? undefined : typeof which === 'string' ? findGrant(entry, which) : which(entry)
      if (chosen === undefined) return null
      removed = [chosen]
      return { entry: withoutGrants(entry!, one => one.id === chosen.id) }
    }, async () => await before?.(removed))
    if (outcome === 'left') return null
    audit('vault.deleted', facts)
    return removed
  }

  async function namesOfOwner (owner: string): Promise<readonly string[]> {
    const names: string[] = []
    for (let cursor: string | null | undefined; cursor !== null;) {
      const page = await vault.list({ owner, limit: PAGE, ...cursor !== undefined && { cursor } })
      if (page.cursor !== null && page.cursor === cursor) throw new AdapterInvalidError('vault.list', 'another cursor with each page')
      names.push(...page.entries.filter(entry => entry.owner === owner).map(({ name }) => name))
      cursor = page.cursor
    }
    return names
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
      let displaced: readonly StoredGrant[] = []
      await rewrite(address(principal, provider), entry => {
        const own = entry === null ? null : withoutGrants(entry, one => one.issuer !== issuer)
        const previous = own?.accounts.find(one => one.id === replaces || isSameAccount(one.grant.account, grant.account))
        const withheld = previous === undefined ? [] : missingScopes(registration, previous.grant, previous.grant.requestedScopes)
        const requestedScopes = [...new Set([...withheld, ...grant.requestedScopes])]
        const now = Date.now()
        saved = { id, version: 0, grant: { ...grant, requestedScopes }, issuer, clientId, connectedAt: now, obtainedAt: now }
        const next = withGrant(own, saved, replaces)
        displaced = own?.accounts.filter(one => !next.accounts.includes(one) && !isSameAccount(one.grant.account, grant.account)) ?? []
        return { entry: next }
      }, check)
      audit('vault.written', { ...auditIdsOf(principal), provider })
      return { saved: saved!, displaced }
    },

    async change (principal, provider, read, step) {
      let now: StoredGrant | null = null
      const outcome = await rewrite(address(principal, provider), (entry, error) => {
        if (error !== null) throw error
        now = entry?.accounts.find(({ id }) => id === read.id) ?? null
        if (entry === null || now === null || !isSameVersion(now, read)) return null
        const next = step(now)
        now = next
        return { entry: { accounts: entry.accounts.map(one => one.id === read.id ? next : one) as unknown as VaultEntry['accounts'] } }
      })
      return { changed: outcome === 'written', now }
    },

    async makeDefault (principal, provider, id) {
      const outcome = await rewrite(address(principal, provider), entry => {
        const chosen = entry?.accounts.find(one => one.id === id)
        return chosen === undefined ? null : { entry: { accounts: [chosen, ...entry!.accounts.filter(one => one !== chosen)] } }
      })
      return outcome === 'written'
    },

    async remove (principal, provider, which, before) {
      return await removeAt(address(principal, provider), { ...auditIdsOf(principal), provider }, which, before)
    },

    async removeAll (principal, providers, before) {
      const owner = hashPrincipal(principal)
      const keys = new Map([...providers].map(key => [address(principal, key)[1], key]))
      const removed: RemovedEntry[] = []
      for (let i = 0; i < ROUNDS; i++) {
        const names = await namesOfOwner(owner)
        if (names.length === 0) return removed
        for (const name of names) {
          const provider = keys.get(name) ?? null
          const grants = await removeAt([owner, name], { ...auditIdsOf(principal), provider: provider ?? UNKNOWN_PROVIDER }, undefined,
            async grants => await before({ name, provider, grants }))
          if (grants !== null) removed.push({ name, provider, grants })
        }
      }
      throw new StoreContentionError()
    }
  }
}
