import type { Account, Grant } from '../types.js'

/** The grant of one account at a provider, as it lies in the vault. */
export interface StoredGrant {
  /** Names it from the user's consent on, however often it is refreshed or sealed anew. */
  readonly id: string
  /** Counts its refreshes: two processes that have read the same number know the same tokens. */
  readonly version: number
  readonly grant: Grant
  /** Who granted it, and to which registration. Credentials of another one are of no use with it. */
  readonly issuer: string
  readonly clientId: string
  /** Epoch milliseconds: when the user consented. */
  readonly connectedAt: number
  /** Epoch milliseconds: when its access token came. */
  readonly obtainedAt: number
  /** Epoch milliseconds: when the provider said that it is gone for good. It is not tried again, and the user is asked. */
  readonly deadAt?: number
}

/** What the vault holds for one principal at one provider: the grants of the accounts there, the default first. */
export interface VaultEntry {
  readonly accounts: readonly [StoredGrant, ...StoredGrant[]]
}

/** Whether two readings of a grant know the same tokens. */
export function isSameVersion (a: StoredGrant, b: StoredGrant): boolean {
  return a.id === b.id && a.version === b.version
}

/**
 * The grant of an account.
 * @param name its identifier or label at the provider; absent: the default
 */
export function findAccount ({ accounts }: VaultEntry, name: string | undefined): StoredGrant | undefined {
  if (name === undefined) return accounts[0]
  return accounts.find(({ grant }) => grant.account?.subject === name) ?? accounts.find(({ grant }) => grant.account?.label === name)
}

export function findGrant ({ accounts }: VaultEntry, id: string): StoredGrant | undefined {
  return accounts.find(one => one.id === id)
}

/** The grant that a handle is about, or whichever has taken its place since. */
export function findSuccessor ({ accounts }: VaultEntry, stored: StoredGrant): StoredGrant | undefined {
  return accounts.find(({ id }) => id === stored.id) ?? accounts.find(({ grant }) => isSameAccount(grant.account, stored.grant.account))
}

/** Of those that a provider does not tell there is one at most: nobody could tell two of them apart. */
export function isSameAccount (a: Account | undefined, b: Account | undefined): boolean {
  return a?.subject === b?.subject
}

/**
 * An entry with one more grant, in place of the one with the id `replaces` and of that of the same account. What the replaced one
 * was not granted is remembered, so that it is not asked for in turns with something else.
 */
export function withGrant (entry: VaultEntry | null, stored: StoredGrant, replaces: string | null): VaultEntry {
  const accounts: readonly StoredGrant[] = entry?.accounts ?? []
  const isReplaced = (one: StoredGrant): boolean => one.id === replaces || isSameAccount(one.grant.account, stored.grant.account)
  const at = accounts.findIndex(isReplaced)
  const others = accounts.filter(one => !isReplaced(one))
  const place = at === -1 ? others.length : accounts.slice(0, at).filter(one => !isReplaced(one)).length
  return { accounts: [...others.slice(0, place), stored, ...others.slice(place)] as unknown as VaultEntry['accounts'] }
}

/** An entry without the grants that `isGone` names; `null` when nothing is left. */
export function withoutGrants ({ accounts }: VaultEntry, isGone: (stored: StoredGrant) => boolean): VaultEntry | null {
  const [first, ...others] = accounts.filter(one => !isGone(one))
  return first === undefined ? null : { accounts: [first, ...others] }
}
