import { AdapterFailedError, AdapterInvalidError, shortCode } from './errors.js'
import type { Bus, Revision, StateStore, Stored, TokenVault } from './storage.js'
import { withTimeout } from './with-timeout.js'

/*
 * Vaults, state stores and buses as others have written them. What they throw is told from what is thrown on purpose, whatever
 * status it carries; a call that hangs is given up; and what they return is checked, so that whoever writes one sees at
 * once what it must return.
 */

const TIMEOUT_MS = 10_000

/**
 * @returns the vault, whose methods fail as below
 * @throws FST_MCP_CONNECT_ADAPTER_FAILED with the adapter's own error as its cause, or after ten seconds;
 * FST_MCP_CONNECT_ADAPTER_INVALID
 */
export function checkVault (vault: TokenVault, timeoutMs = TIMEOUT_MS): TokenVault {
  const get = checked('vault.get', (...args: Parameters<TokenVault['get']>) => vault.get(...args), readStored, timeoutMs)
  // Without a limit: a grant that is stored after it was given up would be there without anybody knowing.
  const put = checked('vault.put', (...args: Parameters<TokenVault['put']>) => vault.put(...args), readRevision)
  return {
    get,
    put: (owner, name, value, expected) => unlessMade(value, () => put(owner, name, value, expected), () => get(owner, name)),
    delete: checked('vault.delete', (...args: Parameters<TokenVault['delete']>) => vault.delete(...args), readDeleted, timeoutMs),
    list: checked('vault.list', (...args: Parameters<TokenVault['list']>) => vault.list(...args), readPage, timeoutMs)
  }
}

/** The same for a state store. */
export function checkState (state: StateStore, timeoutMs = TIMEOUT_MS): StateStore {
  const get = checked('state.get', (...args: Parameters<StateStore['get']>) => state.get(...args), readStored, timeoutMs)
  const put = checked('state.put', (...args: Parameters<StateStore['put']>) => state.put(...args), readRevision, timeoutMs)
  return {
    get,
    put: (key, value, expected, ttlMs) => unlessMade(value, () => put(key, value, expected, ttlMs), () => get(key)),
    delete: checked('state.delete', (...args: Parameters<StateStore['delete']>) => state.delete(...args), readDeleted, timeoutMs),
    count: checked('state.count', (...args: Parameters<StateStore['count']>) => state.count(...args), readCount, timeoutMs)
  }
}

/** The same for a bus. Publishing is best effort, and left to whoever does it. */
export function checkBus (bus: Bus, timeoutMs = TIMEOUT_MS): Bus {
  return {
    publish: message => bus.publish(message),
    subscribe: checked('bus.subscribe', (...args: Parameters<Bus['subscribe']>) => bus.subscribe(...args), readEnd, timeoutMs)
  }
}

function checked<A extends unknown[], R> (name: string, method: (...args: A) => unknown, read: (name: string, result: unknown) => R, timeoutMs?: number):
(...args: A) => Promise<R> {
  return async (...args) => {
    let result: unknown
    try {
      result = await (timeoutMs === undefined ? method(...args) : withTimeout(Promise.resolve(method(...args)), timeoutMs))
    } catch (cause) {
      throw Object.assign(new AdapterFailedError(name, ownMessage(cause)), { cause })
    }
    return read(name, result)
  }
}

/** What the package's own stores say names no secret, and how to mend it. What others say is in the cause alone. */
function ownMessage (cause: unknown): string {
  const { code, message } = Object(cause) as { code?: unknown, message?: unknown }
  return shortCode(String(code)) === '' ? '' : `: ${String(message)}`
}

/**
 * A write whose answer was lost may have been made. Values are sealed, each unlike any other, so that one look tells.
 * @returns the revision if it was made
 */
async function unlessMade (value: string, write: () => Promise<Revision | null>, look: () => Promise<Stored | null>): Promise<Revision | null> {
  try {
    return await write()
  } catch (error) {
    if (!(error instanceof AdapterFailedError)) throw error
    const stored = await look().catch(() => null)
    if (stored?.value === value) return stored.revision
    throw error
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

type Count = Awaited<ReturnType<StateStore['count']>>

function readCount (name: string, result: unknown): Count {
  const { count, resetMs } = Object(result) as Record<keyof Count, unknown>
  if (Number.isInteger(count) && Number(count) > 0 && typeof resetMs === 'number' && resetMs >= 0) return { count: Number(count), resetMs }
  throw new AdapterInvalidError(name, 'an object of the numbers count, from 1, and resetMs')
}

function readEnd (name: string, result: unknown): () => Promise<void> {
  if (typeof result === 'function') return result as () => Promise<void>
  throw new AdapterInvalidError(name, 'a function that ends the subscription')
}

type Page = Awaited<ReturnType<TokenVault['list']>>

function readPage (name: string, result: unknown): Page {
  const { entries, cursor } = Object(result) as Record<keyof Page, unknown>
  const isPage = Array.isArray(entries) && entries.every(entry => typeof entry?.owner === 'string' && typeof entry?.name === 'string') &&
    (cursor === null || typeof cursor === 'string')
  if (isPage) return { entries, cursor }
  throw new AdapterInvalidError(name, 'an object of entries, a list of { owner, name }, and cursor, a string, or null on the last page')
}
