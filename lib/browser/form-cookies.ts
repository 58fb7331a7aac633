import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { hashPrincipal } from '../principal.js'
import { randomToken } from '../random.js'
import type { Principal } from '../types.js'
import type { KeyRing } from '../vault/key-ring.js'
import { createBindingCookies } from './binding-cookies.js'
import type { Cookies } from './cookies.js'
import { createSeals } from './seals.js'

const LIFETIME_MS = 8 * 60 * 60_000

const schema = z.object({ owner: z.string(), id: z.string() })

/**
 * A browser has such a cookie once it was shown a page of ours, and brings it with the forms of that page, which are bound to its id.
 * Who is signed in is another matter. Pages that were opened at the same time may have written one each.
 */
export interface FormCookies {
  /** The one with this id, if it was written for this principal. */
  has (request: FastifyRequest, principal: Principal, id: string): Promise<boolean>
  /** The id of one for this principal; writes it where there is none. */
  open (request: FastifyRequest, reply: FastifyReply, principal: Principal): Promise<string>
  /** No form that this browser was shown is taken any more. */
  clear (request: FastifyRequest, reply: FastifyReply): void
}

export function createFormCookies (ring: KeyRing, cookies: Cookies): FormCookies {
  const seals = createSeals(ring, `${cookies.beginning} form`, LIFETIME_MS, schema)
  const bindingCookies = createBindingCookies(cookies, 'form', LIFETIME_MS)

  async function find (values: ReadonlyArray<string | undefined>, principal: Principal): Promise<string | undefined> {
    const found = await Promise.all(values.map(async value => await seals.open(value)))
    return found.reverse().find(data => data?.owner === hashPrincipal(principal))?.id     // the newest, which is pushed out last
  }

  return {
    has: async (request, principal, id) => await find([bindingCookies.read(request, id)], principal) === id,

    async open (request, reply, principal) {
      const known = await find(bindingCookies.readAll(request), principal)
      if (known !== undefined) return known
      const id = randomToken()
      bindingCookies.write(request, reply, id, await seals.seal({ owner: hashPrincipal(principal), id }))
      return id
    },

    clear: bindingCookies.clearAll
  }
}
