import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { hashFields } from '../../encoding.js'
import { createRecords, type RecordServices } from '../../state/records.js'
import type { KeyRing } from '../../vault/key-ring.js'
import type { Cookies } from '../cookies.js'
import { createSeals } from '../seals.js'
import { createStateCookies } from '../state-cookies.js'

/** How long somebody has at the authorization server. */
const LIFETIME_MS = 10 * 60_000

const schema = z.object({ state: z.string(), issuer: z.string(), clientId: z.string(), codeVerifier: z.string(), nonce: z.string(), returnTo: z.string() })

/** One attempt to sign in, from the authorization request to its response. */
export type Attempt = z.infer<typeof schema>

/**
 * Attempts to sign in. Each lies in a sealed cookie of the browser that made it: whoever is not signed in costs the
 * store nothing, and a response that somebody else began opens nothing here.
 */
export interface Attempts {
  write (request: FastifyRequest, reply: FastifyReply, attempt: Attempt): Promise<void>
  /** @returns `null` when this browser has begun no attempt with this state, or too long ago */
  read (request: FastifyRequest, state: string): Promise<Attempt | null>
  /** Spends the attempt: of all that try, one gets `true`. */
  claim (reply: FastifyReply, state: string): Promise<boolean>
}

export function createAttempts (ring: KeyRing, cookies: Cookies, services: RecordServices): Attempts {
  const seals = createSeals(ring, 'login', LIFETIME_MS, schema)
  const stateCookies = createStateCookies(cookies, 'login', LIFETIME_MS)
  const claimed = createRecords<object>('login-claimed', services)

  return {
    async write (request, reply, attempt) {
      stateCookies.write(request, reply, attempt.state, await seals.seal(attempt))
    },

    async read (request, state) {
      const attempt = await seals.open(stateCookies.read(request, state))
      return attempt?.state === state ? attempt : null
    },

    async claim (reply, state) {
      stateCookies.clear(reply, state)
      return await claimed.put(hashFields('login state', state), {}, null, LIFETIME_MS) !== null
    }
  }
}
