import { AdapterInvalidError } from './errors.js'
import type { Revision, Stored } from './types.js'

/*
 * What the methods of a vault or a state store gave back, checked: whoever writes one sees at once what it must return.
 * All throw FST_MCP_CONNECT_ADAPTER_INVALID.
 */

/** @param method its name, such as `vault.get` */
export function readStored (method: string, result: unknown): Stored | null {
  if (result === null || result === undefined) return null
  const { value, revision } = Object(result) as Record<keyof Stored, unknown>
  if (typeof value === 'string' && typeof revision === 'string') return { value, revision }
  throw new AdapterInvalidError(method, 'an object of the strings value and revision, or null')
}

export function readRevision (method: string, result: unknown): Revision | null {
  if (result === null || typeof result === 'string') return result
  throw new AdapterInvalidError(method, 'the new revision, a string, or null when the race is lost')
}

export function readDeleted (method: string, result: unknown): boolean {
  if (typeof result === 'boolean') return result
  throw new AdapterInvalidError(method, 'a boolean: whether the revision was there')
}
