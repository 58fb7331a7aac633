import { LOST, untilWon } from '../compare-and-set.js'
import { hashFields } from '../encoding.js'
import { hashPrincipal, principalFields } from '../principal.js'
import type { Grant, Principal, TokenVault } from '../types.js'
import type { Sealer } from '../vault/sealer.js'

/** What the vault holds for one principal at one provider. */
export interface VaultEntry {
  readonly grant: Grant
  /** Who granted it. */
  readonly issuer: string
  /** Epoch milliseconds. */
  readonly connectedAt: number
}

/** The connections of all principals, in the vault. There is no look-up without a principal. */
export interface Connections {
  /**
   * @param issuer the provider's configured issuer; what another one granted is no connection to this provider
   * @throws FST_MCP_CONNECT_SEAL_BROKEN when there is an entry that cannot be opened; `save` and `remove` still work
   */
  find (principal: Principal, provider: string, issuer: string): Promise<VaultEntry | null>
  /** Stores a new grant in place of what is there. */
  save (principal: Principal, provider: string, issuer: string, grant: Grant): Promise<void>
  /** Forgets the grant. @returns `false` when there was none */
  remove (principal: Principal, provider: string): Promise<boolean>
}

export function createConnections ({ vault, sealer }: { vault: TokenVault, sealer: Sealer }): Connections {
  const context = (principal: Principal, provider: string): readonly string[] => ['grant', ...principalFields(principal), provider]
  const address = (principal: Principal, provider: string): [owner: string, name: string] =>
    [hashPrincipal(principal), hashFields('provider', provider)]

  return {
    async find (principal, provider, issuer) {
      const stored = await vault.get(...address(principal, provider)) ?? null
      if (stored === null) return null
      const entry = JSON.parse(sealer.open(stored.value, context(principal, provider))) as VaultEntry
      return entry.issuer === issuer ? entry : null
    },

    async save (principal, provider, issuer, grant) {
      const entry: VaultEntry = { grant, issuer, connectedAt: Date.now() }
      const sealed = sealer.seal(JSON.stringify(entry), context(principal, provider))
      const [owner, name] = address(principal, provider)
      await untilWon(async () => {
        const stored = await vault.get(owner, name) ?? null
        return await vault.put(owner, name, sealed, stored?.revision ?? null) ?? LOST
      })
    },

    async remove (principal, provider) {
      const [owner, name] = address(principal, provider)
      return await untilWon(async () => {
        const stored = await vault.get(owner, name) ?? null
        if (stored === null) return false
        return await vault.delete(owner, name, stored.revision) || LOST
      })
    }
  }
}
