import type { Account } from '../types.js'
import { findAccount, isSameAccount, type StoredGrant, type VaultEntry } from './entry.js'

/** What somebody who connects wants to connect: an account by its identifier or label, a further one, or whichever it is. */
export interface Wish {
  readonly account?: string
  readonly another?: true
}

/** Where a new grant belongs: in place of the one with the id `replaces`, or beside all. `conflict`: the user has to say whether it replaces this one. */
export type Placement =
  | { readonly kind: 'clear', readonly replaces: string | null }
  | { readonly kind: 'conflict', readonly with: StoredGrant }

/** The grant that a wish is about; `undefined` when it is about none that is there. */
export function targetOf (entry: VaultEntry | null, { account, another }: Wish): StoredGrant | undefined {
  return entry === null || another === true ? undefined : findAccount(entry, account)
}

/**
 * Places a new grant. One of another account than the one that it was to renew, or of an account that cannot be told, takes nobody's place
 * without a question.
 */
export function placeGrant (entry: VaultEntry | null, wish: Wish, account: Account | undefined): Placement {
  const same = entry?.accounts.find(({ grant }) => isSameAccount(grant.account, account))
  if (same !== undefined) return { kind: 'clear', replaces: same.id }
  const target = targetOf(entry, wish) ?? (account === undefined ? entry?.accounts[0] : undefined)
  if (target === undefined) return { kind: 'clear', replaces: null }
  // Nobody knows whose it was: there is nothing to compare.
  return target.grant.account === undefined ? { kind: 'clear', replaces: target.id } : { kind: 'conflict', with: target }
}
