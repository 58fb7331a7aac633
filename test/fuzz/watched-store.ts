import { z } from 'zod'
import { createSeals } from '../../lib/browser/seals.js'
import { grantContext } from '../../lib/connections/grant-context.js'
import { memoryStore } from '../../lib/index.js'
import type { Store } from '../../lib/storage.js'
import { createKeyRing } from '../../lib/vault/key-ring.js'
import { createSealer } from '../../lib/vault/sealer.js'

/** Somebody's row of the vault was written or deleted. */
export interface Write {
  readonly kind: 'put' | 'delete'
  /** Names the user, as the vault does. */
  readonly owner: string
}

export interface WatchedStore {
  readonly store: Store
  /** Whose rows of the vault were written or deleted since it was asked last. */
  takeWrites (): Write[]
  /** Whether limits count. */
  counts: boolean
  /** Learns what stands in the cookie of a sign-in that waits. */
  readSignIn (cookie: string): Promise<void>
}

/**
 * A store in memory that tells who was written to, and what of it is secret.
 * @param learn is told of every code_verifier, nonce and token
 */
export function createWatchedStore (key: string, learn: (kind: string, text: string) => void): WatchedStore {
  const { state, vault, ...rest } = memoryStore()
  const ring = createKeyRing([Buffer.from(key, 'base64')])
  const sealer = createSealer(ring)
  const signIns = createSeals(ring, 'mcp-connect login', 10 * 60_000, z.object({ codeVerifier: z.string(), nonce: z.string() }))
  let writes: Write[] = []

  function learnAll (members: Readonly<Record<string, unknown>>): void {
    for (const kind of ['codeVerifier', 'nonce', 'accessToken', 'refreshToken']) if (typeof members[kind] === 'string') learn(kind, members[kind])
  }

  const watched: WatchedStore = {
    counts: false,

    takeWrites () {
      const taken = writes
      writes = []
      return taken
    },

    async readSignIn (cookie) {
      learnAll(await signIns.open(cookie) ?? {})
    },

    store: {
      ...rest,
      state: {
        ...state,
        put (row, value, ...more) {
          const [kind = '', hash = ''] = row.split(':')
          if (kind === 'flow') learnAll(JSON.parse(sealer.open(value, [kind, hash])))
          return state.put(row, value, ...more)
        },
        count: async (...parameters) => watched.counts ? await state.count(...parameters) : { count: 1, resetMs: 1 }
      },
      vault: {
        ...vault,
        put (owner, name, value, ...more) {
          learnAll((JSON.parse(sealer.open(value, grantContext(owner, name))) as { grant: Record<string, unknown> }).grant)
          writes.push({ kind: 'put', owner })
          return vault.put(owner, name, value, ...more)
        },
        delete (owner, ...more) {
          writes.push({ kind: 'delete', owner })
          return vault.delete(owner, ...more)
        }
      }
    }
  }
  return watched
}
