import { randomBytes } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { sealData, unsealData } from 'iron-session'
import { z } from 'zod'
import { hashFields } from '../encoding.js'
import { principalFields } from '../principal.js'
import type { Principal } from '../types.js'
import type { KeyRing } from '../vault/key-ring.js'
import type { Cookies } from './cookies.js'

const NAME = 'mcp-connect'
const LIFETIME_MS = 8 * 60 * 60_000

// A seal of iron-session is not bound to the cookie that it was made for, so it says itself what it is.
const schema = z.object({ purpose: z.literal('browser session'), id: z.string(), owner: z.string(), expiresAt: z.number() })

/**
 * Browser sessions, beside the host's own: they tie the forms of a page to the browser that the page was shown in.
 * Who is signed in is for the host to say, at each request.
 */
export interface BrowserSessions {
  /** @returns the id of this browser's session with this principal; `null` when there is none */
  find (request: FastifyRequest, principal: Principal): Promise<string | null>
  /** As `find`, and opens a session where there is none. */
  open (request: FastifyRequest, reply: FastifyReply, principal: Principal): Promise<string>
}

export function createBrowserSessions (ring: KeyRing, cookies: Cookies): BrowserSessions {
  // iron-session seals with the highest number, and opens with any; the ring has the newest key first.
  const secrets = ring.derive('browser session cookie')
  const password = Object.fromEntries(secrets.map((secret, index) => [secrets.length - index, secret.toString('base64url')]))

  async function find (request: FastifyRequest, principal: Principal): Promise<string | null> {
    const seal = cookies.read(request, NAME)
    const { data } = schema.safeParse(await unseal(seal ?? '', password))
    return data !== undefined && data.owner === ownerOf(principal) && data.expiresAt > Date.now() ? data.id : null
  }

  return {
    find,
    async open (request, reply, principal) {
      const found = await find(request, principal)
      if (found !== null) return found
      const id = randomBytes(32).toString('base64url')
      const data: z.infer<typeof schema> = { purpose: 'browser session', id, owner: ownerOf(principal), expiresAt: Date.now() + LIFETIME_MS }
      cookies.write(reply, NAME, await sealData(data, { password, ttl: LIFETIME_MS / 1000 }))
      return id
    }
  }
}

function ownerOf (principal: Principal): string {
  return hashFields('owner', ...principalFields(principal))
}

/** iron-session gives an empty object for some broken seals, and throws for others. */
async function unseal (seal: string, password: Record<string, string>): Promise<unknown> {
  try {
    return await unsealData(seal, { password, ttl: LIFETIME_MS / 1000 })
  } catch {
    return {}
  }
}
