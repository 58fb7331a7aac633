import { AdapterFailedError, AdapterInvalidError } from './errors.js'
import type { Revision, StateStore, Stored, TokenVault } from './types.js'

/*
 * Vaults and state stores as others have written them. What they throw is told from what is thrown on purpose, whatever
 * status it carries, and what they return is checked: whoever writes one sees at once what it must return.
 */

/**
 * @returns the vault, whose methods fail as below
 * @throws FST_MCP_CONNECT_ADAPTER_FAILED with the adapter's own error as its cause, FST_MCP_CONNECT_ADAPTER_INVALID
 */
export function checkVault (vault: TokenVault): TokenVault {
  return {
    get: checked('vault.get', (...args: Parameters<TokenVault['get']>) => vault.get(...args), readStored),
    put: checked('vault.put', (...args: Parameters<TokenVault['put']>) => vault.put(...args), readRevision),
    delete: checked('vault.delete', (...args: Parameters<TokenVault['delete']>) => vault.delete(...args), readDeleted),
    list: query => vault.list(query)
  }
}

/** The same for a state store. */
export function checkState (state: StateStore): StateStore {
  return {
    get: checked('state.get', (...args: Parameters<StateStore['get']>) => state.get(...args), readStored),
    put: checked('state.put', (...args: Parameters<StateStore['put']>) => state.put(...args), readRevision),
    delete: checked('state.delete', (...args: Parameters<StateStore['delete']>) => state.delete(...args), readDeleted),
    count: (key, windowMs) => state.count(key, windowMs)
  }
}

function checked<A extends unknown[], R> (name: string, method: (...args: A) => unknown, read: (name: string, result: unknown) => R): (...args: A) => Promise<R> {
  return async (...args) => {
    let result: unknown
    try {
      result = await method(...args)
    } catch (cause) {
      throw Object.assign(new AdapterFailedError(name), { cause })
    }
    return read(name, result)
  }
}

function readStored (name: string, result: unknown): Stored | null {
  if (result === null || result === undefined) return null
  const { value, revision } = Object(result) as Record<keyof Stored, unknown>
  if (typeof value === 'string' && typeof revision === 'string') return { value, revision }
  throw new AdapterInvalidError(name, 'an object of the strings value and revision, or null')
}

function readRevision (name: string, result: unknown): Revision | null {
  if (result === null || typeof result === 'string') return result
  throw new AdapterInvalidError(name, 'the new revision, a string, or null when the race is lost')
}

function readDeleted (name: string, result: unknown): boolean {
  if (typeof result === 'boolean') return result
  throw new AdapterInvalidError(name, 'a boolean: whether the revision was there')
}
