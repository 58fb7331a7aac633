import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { hashFields } from '../../encoding.js'
import { createRecords, type RecordServices } from '../../state/records.js'
import type { KeyRing } from '../../vault/key-ring.js'
import { createBindingCookies } from '../binding-cookies.js'
import type { Cookies } from '../cookies.js'
import { createSeals } from '../seals.js'

/** How long somebody has at the authorization server. */
const LIFETIME_MS = 10 * 60_000

const schema = z.object({ state: z.string(), issuer: z.string(), clientId: z.string(), codeVerifier: z.string(), nonce: z.string(), returnTo: z.string() })

/** An authentication request that waits for its response (OpenID Connect Core 1.0 section 3.1.2). */
export type PendingSignIn = z.infer<typeof schema>

/**
 * Each lies in a sealed cookie of the browser that it was made in: whoever is not signed in costs the store nothing, and a
 * response that somebody else began opens nothing here.
 */
export interface PendingSignIns {
  write (request: FastifyRequest, reply: FastifyReply, pending: PendingSignIn): Promise<void>
  /** @returns `null` when this browser has begun none with this state, or too long ago */
  read (request: FastifyRequest, state: string): Promise<PendingSignIn | null>
  /** Spends it: of all that try, one gets `true`. */
  claim (reply: FastifyReply, state: string): Promise<boolean>
}

export function createPendingSignIns (ring: KeyRing, cookies: Cookies, services: RecordServices): PendingSignIns {
  const seals = createSeals(ring, `${cookies.beginning} login`, LIFETIME_MS, schema)
  const bindingCookies = createBindingCookies(cookies, 'login', LIFETIME_MS)
  const claimed = createRecords<object>('login-claimed', services)

  return {
    async write (request, reply, pending) {
      bindingCookies.write(request, reply, pending.state, await seals.seal(pending))
    },

    async read (request, state) {
      const pending = await seals.open(bindingCookies.read(request, state))
      return pending?.state === state ? pending : null
    },

    async claim (reply, state) {
      bindingCookies.clear(reply, state)
      return await claimed.put(hashFields('login state', state), {}, null, LIFETIME_MS) !== null
    }
  }
}
