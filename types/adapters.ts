/*
 * Adapters of the host's own: plain objects or classes with the methods of TokenVault and Store.
 */
import {
  memoryStore,
  type Bus, type McpConnectOptions, type Revision, type StateStore, type Store, type Stored, type TokenVault
} from 'fastify-mcp-connect'
import { expect, type Equal } from './equal.js'

declare const options: McpConnectOptions

const rows = new Map<string, Stored>()

const vault: TokenVault = {
  async get (owner, name) {
    expect<Equal<typeof owner, string>>()
    expect<Equal<typeof name, string>>()
    return rows.get(owner + name) ?? null
  },
  async put (owner, name, value, expected) {
    expect<Equal<typeof value, string>>()
    expect<Equal<typeof expected, Revision | null>>()
    if ((rows.get(owner + name)?.revision ?? null) !== expected) return null
    const revision = crypto.randomUUID()
    rows.set(owner + name, { value, revision })
    return revision
  },
  async delete (owner, name, expected) {
    return rows.get(owner + name)?.revision === expected && rows.delete(owner + name)
  },
  async list ({ owner, cursor, limit }) {
    expect<Equal<typeof owner, string | undefined>>()
    expect<Equal<typeof cursor, string | undefined>>()
    expect<Equal<typeof limit, number>>()
    return { entries: [], cursor: null }
  }
}

class State implements StateStore {
  async get (): Promise<Stored | null> {
    return null
  }

  async put (_key: string, value: string, _expected: Revision | null, ttlMs = Infinity): Promise<Revision | null> {
    return value + ttlMs
  }

  async delete (): Promise<boolean> {
    return false
  }

  async count (_key: string, windowMs: number): Promise<{ count: number, resetMs: number }> {
    return { count: 1, resetMs: windowMs }
  }
}

const bus: Bus = {
  async publish () {},
  async subscribe (listener) {
    expect<Equal<typeof listener, (message: string) => void>>()
    return async () => {}
  }
}

export const whole: McpConnectOptions = { ...options, store: { vault, state: new State(), bus, async close () {} } }
export const apart: McpConnectOptions = { ...options, vault }
export const mixed: McpConnectOptions = { ...options, store: { ...memoryStore(), vault } }

// What is no store and no vault
// @ts-expect-error Without close.
export const endless: Store = { vault, state: new State(), bus }
// @ts-expect-error Without list.
export const unlisted: TokenVault = { get: vault.get, put: vault.put, delete: vault.delete }
// @ts-expect-error What is missing is null.
export const undefinedWhenMissing: TokenVault = { ...vault, async get () { return undefined } }
// @ts-expect-error A value without its revision.
export const withoutRevision: TokenVault = { ...vault, async get () { return { value: 'sealed' } } }
// @ts-expect-error Whether it was written is told by the new revision.
export const withoutNewRevision: TokenVault = { ...vault, async put () { return true } }
// @ts-expect-error Nothing is synchronous.
export const synchronous: TokenVault = { ...vault, delete: () => true }
// @ts-expect-error A lost race is null, not undefined.
export const undefinedWhenLost: StateStore = { ...new State(), async put () {} }
// @ts-expect-error The way to end the subscription is missing.
export const forever: Bus = { ...bus, async subscribe () {} }
