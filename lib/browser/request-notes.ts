import type { FastifyRequest } from 'fastify'
import type { Principal } from '../types.js'
import type { Visitor } from './visitors.js'

/** What a handler found out, for the page that answers when it fails. */
export interface Notes {
  /** `null` when nobody is signed in. */
  readonly visitor?: Visitor | null
  /** The path of the page, to come back to after signing in. */
  readonly returnTo?: string
  /** The visitor's own elicitation, at whose page they can begin again. */
  readonly elicitationId?: string
  /** What the request is about, whosever it is. */
  readonly about?: { readonly provider: string, readonly elicitation: string }
  /** Of an elicitation that is not the visitor's: whose it is, and in which members the two differ. */
  readonly mismatch?: { readonly owner: Principal, readonly differing: ReadonlyArray<keyof Principal> }
}

const notes = new WeakMap<FastifyRequest, Notes>()

export function remember (request: FastifyRequest, more: Notes): void {
  notes.set(request, { ...notes.get(request), ...more })
}

export function recall (request: FastifyRequest): Notes {
  return notes.get(request) ?? {}
}
