import { z } from 'zod'
import { createSeals } from '../../lib/browser/seals.js'
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
  /** What was written to the vault since it was asked last. */
  takeWrites (): Write[]
  /** Whether limits count. */
  counts: boolean
  /** Learns what stands in the cookie of a sign-in that waits. */
  readSignIn (cookie: string): Promise<void>
}

const waiting = z.object({ codeVerifier: z.string(), nonce: z.string().optional() })

/**
 * A store in memory that tells whose rows were written, and what stands in those that wait for a provider.
 * @param learn is told of each code_verifier and nonce
 */
export function createWatchedStore (key: string, learn: (kind: string, text: string) => void): WatchedStore {
  const { state, vault, ...rest } = memoryStore()
  const ring = createKeyRing([Buffer.from(key, 'base64')])
  const sealer = createSealer(ring)
  const signIns = createSeals(ring, 'mcp-connect login', 10 * 60_000, waiting)
  const writes: Write[] = []

  function learnAll (record: z.infer<typeof waiting> | null): void {
    for (const [kind, text] of Object.entries(record ?? {})) learn(kind, text)
  }

  const watched: WatchedStore = {
    counts: false,
    takeWrites: () => writes.splice(0),

    async readSignIn (cookie) {
      learnAll(await signIns.open(cookie))
    },

    store: {
      ...rest,
      state: {
        ...state,
        put (row, value, ...more) {
          const [kind = '', hash = ''] = row.split(':')
          if (kind === 'flow') learnAll(waiting.parse(JSON.parse(sealer.open(value, [kind, hash]))))
          return state.put(row, value, ...more)
        },
        count: async (...parameters) => watched.counts ? await state.count(...parameters) : { count: 1, resetMs: 1 }
      },
      vault: {
        ...vault,
        put (owner, ...more) {
          writes.push({ kind: 'put', owner })
          return vault.put(owner, ...more)
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
