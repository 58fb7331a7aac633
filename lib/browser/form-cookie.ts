import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { hashPrincipal } from '../principal.js'
import type { Principal } from '../types.js'
import type { KeyRing } from '../vault/key-ring.js'
import type { Cookies } from './cookies.js'
import { createSeals } from './seals.js'

const NAME = 'form'
const LIFETIME_MS = 8 * 60 * 60_000

const schema = z.object({ owner: z.string() })

/** A browser has this cookie once it was shown a page of ours, and brings it with the forms of that page. Who is signed in is another matter. */
export interface FormCookie {
  /** Whether this browser was shown a page for this principal. */
  has (request: FastifyRequest, principal: Principal): Promise<boolean>
  /** Writes the cookie where there is none. */
  open (request: FastifyRequest, reply: FastifyReply, principal: Principal): Promise<void>
}

export function createFormCookie (ring: KeyRing, cookies: Cookies): FormCookie {
  const seals = createSeals(ring, `${cookies.beginning} form`, LIFETIME_MS, schema)

  async function has (request: FastifyRequest, principal: Principal): Promise<boolean> {
    const data = await seals.open(cookies.read(request, NAME))
    return data?.owner === hashPrincipal(principal)
  }

  return {
    has,
    async open (request, reply, principal) {
      if (await has(request, principal)) return
      cookies.write(reply, NAME, await seals.seal({ owner: hashPrincipal(principal) }))
    }
  }
}
