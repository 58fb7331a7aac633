/** One upstream identity at a provider. */
export interface Account {
  /** The provider's stable identifier for it (`sub`). */
  readonly subject: string
  /** What it is called there, such as an e-mail address: the provider's own words, of 100 characters at most. */
  readonly label?: string
}

/**
 * What became of a grant at its provider, once it was deleted here.
 * - `revoked`: it has ended there, too.
 * - `later`: the provider could not be told yet. It is told again, by whichever process, for a week.
 * - `unsupported`: the provider has no way to be told.
 * - `refused`: the provider did not accept it, or its address is none that may be asked.
 * - `spared`: the provider was not told, since the same account is connected by another grant, which might end with it.
 * - `unconfigured`: the registration that it was granted to is not configured any more.
 * - `unreadable`: what was stored could not be opened.
 * - `lost`: the provider could not be told, and what is to be told later could not be stored.
 */
export type AtProvider = 'revoked' | 'later' | 'unsupported' | 'refused' | 'spared' | 'unconfigured' | 'unreadable' | 'lost'

/** A grant that was deleted. */
export interface Disconnected {
  /** Whose it was at the provider; `undefined` when that is not known. */
  readonly account: Account | undefined
  readonly atProvider: AtProvider
}
