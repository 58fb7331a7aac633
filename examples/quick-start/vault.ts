import type { Stored, TokenVault } from 'fastify-mcp-connect'
import { randomUUID } from 'node:crypto'

/** In a Map, to show the shape; yours keeps the entries where they last. */
export function mapVault (): TokenVault {
  const entries = new Map<string, Stored>()
  return {
    async get (owner, name) {
      return entries.get(owner + name) ?? null
    },
    async put (owner, name, value, expected) {
      if ((entries.get(owner + name)?.revision ?? null) !== expected) return null
      const revision = randomUUID()
      entries.set(owner + name, { value, revision })
      return revision
    },
    async delete (owner, name, expected) {
      return entries.get(owner + name)?.revision === expected && entries.delete(owner + name)
    },
    async list ({ owner = '', cursor = '', limit }) { // for operators' tools: pages in a stable order
      const keys = [...entries.keys()].filter(key => key.startsWith(owner) && key > cursor).sort()
      const page = keys.slice(0, limit)
      return {
        entries: page.map(key => ({ owner: key.slice(0, 64), name: key.slice(64) })),
        cursor: keys.length > limit ? page.at(-1)! : null
      }
    }
  }
}
