import { hashFields } from '../encoding.js'
import { StoreContentionError } from '../errors.js'
import { principalFields } from '../principal.js'
import type { Grant, Principal, Revision, TokenVault } from '../types.js'
import type { Sealer } from '../vault/sealer.js'

/** What the vault holds for one principal at one provider. */
export interface VaultEntry {
  readonly grant: Grant
  /** Epoch milliseconds. */
  readonly connectedAt: number
}

/** The connections of all principals, in the vault. There is no look-up without a principal. */
export interface Connections {
  find (principal: Principal, provider: string): Promise<VaultEntry | null>
  /** Stores a new grant in place of what is there. */
  save (principal: Principal, provider: string, grant: Grant): Promise<void>
  /** Forgets the grant. @returns `false` when there was none */
  remove (principal: Principal, provider: string): Promise<boolean>
}

/** Compare-and-set is tried this often before contention is an error. */
const ATTEMPTS = 20

export function createConnections ({ vault, sealer }: { vault: TokenVault, sealer: Sealer }): Connections {
  const context = (principal: Principal, provider: string): readonly string[] => ['grant', ...principalFields(principal), provider]
  const address = (principal: Principal, provider: string): [owner: string, name: string] =>
    [hashFields('owner', ...principalFields(principal)), hashFields('provider', provider)]

  async function change (principal: Principal, provider: string,
    step: (owner: string, name: string, revision: Revision | null) => Promise<boolean>): Promise<void> {
    const [owner, name] = address(principal, provider)
    for (let i = 0; i < ATTEMPTS; i++) {
      const stored = await vault.get(owner, name)
      if (await step(owner, name, stored?.revision ?? null)) return
    }
    throw new StoreContentionError()
  }

  return {
    async find (principal, provider) {
      const stored = await vault.get(...address(principal, provider))
      return stored === null ? null : JSON.parse(sealer.open(stored.value, context(principal, provider))) as VaultEntry
    },

    async save (principal, provider, grant) {
      const entry: VaultEntry = { grant, connectedAt: Date.now() }
      const sealed = sealer.seal(JSON.stringify(entry), context(principal, provider))
      await change(principal, provider, async (owner, name, revision) => await vault.put(owner, name, sealed, revision) !== null)
    },

    async remove (principal, provider) {
      let removed = false
      await change(principal, provider, async (owner, name, revision) => {
        if (revision === null) return true
        removed = await vault.delete(owner, name, revision)
        return removed
      })
      return removed
    }
  }
}
