import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { AtProvider } from '../account.js'
import { hashPrincipal } from '../principal.js'
import type { Principal } from '../types.js'
import type { KeyRing } from '../vault/key-ring.js'
import type { Cookies } from './cookies.js'
import { createSeals } from './seals.js'

/** What became of a connection that the user has just ended. */
export interface Notice {
  /** The key of the provider. */
  readonly provider: string
  /** Of its grants, what the user has to know most. */
  readonly atProvider: AtProvider
}

/** What a page says once to somebody who has just done something, after the redirect. It changes nothing: whoever loses it misses a line. */
export interface Notices {
  write (reply: FastifyReply, principal: Principal, provider: string, outcomes: readonly AtProvider[]): Promise<void>
  take (request: FastifyRequest, reply: FastifyReply, principal: Principal): Promise<Notice | null>
}

const NAME = 'notice'
const LIFETIME_MS = 60_000

/** What there is something to do about comes first. */
const OUTCOMES = ['unsupported', 'refused', 'unconfigured', 'unreadable', 'lost', 'later', 'spared', 'revoked'] as const
const schema = z.object({ owner: z.string(), provider: z.string(), atProvider: z.enum(OUTCOMES) })

export function createNotices (ring: KeyRing, cookies: Cookies): Notices {
  const seals = createSeals(ring, `${cookies.beginning} ${NAME}`, LIFETIME_MS, schema)

  function read (request: FastifyRequest): string | undefined {
    try {
      return cookies.read(request, NAME)
    } catch {
      return undefined                            // there twice
    }
  }

  return {
    async write (reply, principal, provider, outcomes) {
      const atProvider = OUTCOMES.find(outcome => outcomes.includes(outcome))
      if (atProvider === undefined) return
      cookies.write(reply, NAME, await seals.seal({ owner: hashPrincipal(principal), provider, atProvider }), LIFETIME_MS / 1000)
    },

    async take (request, reply, principal) {
      const value = read(request)
      if (value === undefined) return null
      cookies.write(reply, NAME, '', 0)
      const data = await seals.open(value)
      return data?.owner === hashPrincipal(principal) ? data : null
    }
  }
}
