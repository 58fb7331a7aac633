/** Chosen by the adapter; never reused for a key, not even after a delete. */
export type Revision = string

export interface Stored {
  readonly value: string
  readonly revision: Revision
}

/** Storage of sealed grants. It sees sealed strings alone; `owner` and `name` are 64 hexadecimal digits. */
export interface TokenVault {
  /** @returns the entry, or `null` when there is none */
  get (owner: string, name: string): Promise<Stored | null>
  /**
   * Writes in one atomic step.
   * @param expected the revision that must be there; `null` when there must be none
   * @returns the new revision, or `null` when the race is lost
   */
  put (owner: string, name: string, value: string, expected: Revision | null): Promise<Revision | null>
  /** Deletes in one atomic step. @returns `false` when the revision was not there */
  delete (owner: string, name: string, expected: Revision): Promise<boolean>
  /** Pages through the entries, of one owner or of all. @returns `cursor: null` on the last page */
  list (query: { readonly owner?: string, readonly cursor?: string, readonly limit: number }):
  Promise<{ readonly entries: ReadonlyArray<{ readonly owner: string, readonly name: string }>, readonly cursor: string | null }>
}

/** Storage of short-lived records. An expired record is a missing one, by the store's clock. */
export interface StateStore {
  /** @returns the record, or `null` when there is none */
  get (key: string): Promise<Stored | null>
  /**
   * Writes in one atomic step.
   * @param expected the revision that must be there; `null` when there must be none
   * @param ttlMs lifetime from now on; omitted: the record keeps its expiry, and a new one never expires
   * @returns the new revision, or `null` when the race is lost
   */
  put (key: string, value: string, expected: Revision | null, ttlMs?: number): Promise<Revision | null>
  /** Deletes in one atomic step. @returns `false` when the revision was not there */
  delete (key: string, expected: Revision): Promise<boolean>
  /**
   * Counts one event in a fixed window that starts with its first event.
   * @returns the events in the window, this one included, and the milliseconds until it ends
   */
  count (key: string, windowMs: number): Promise<{ readonly count: number, readonly resetMs: number }>
}

/** Best-effort messages between the processes that share a store. */
export interface Bus {
  publish (message: string): Promise<void>
  /** @returns a function that ends the subscription */
  subscribe (listener: (message: string) => void): Promise<() => Promise<void>>
}

/** Where everything is kept. A plain object, so that parts of several stores can be mixed. */
export interface Store {
  readonly vault: TokenVault
  readonly state: StateStore
  readonly bus: Bus
  /** Called once, while the application closes, when nothing else uses the store any longer. */
  close (): Promise<void>
}
