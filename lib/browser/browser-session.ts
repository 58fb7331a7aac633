import type { FastifyReply, FastifyRequest } from 'fastify'
import { sealData, unsealData } from 'iron-session'
import { z } from 'zod'
import { hashPrincipal } from '../principal.js'
import type { Principal } from '../types.js'
import type { KeyRing } from '../vault/key-ring.js'
import type { Cookies } from './cookies.js'

const NAME = 'mcp-connect'
const LIFETIME_MS = 8 * 60 * 60_000

// A seal of iron-session is not bound to the cookie that it was made for, so it says itself what it is.
const schema = z.object({ purpose: z.literal('browser session'), owner: z.string(), expiresAt: z.number() })

/**
 * Browser sessions, beside the host's own: a browser has one once it was shown a page of ours, and brings it with the
 * forms of that page. Who is signed in is for the host to say, at each request.
 */
export interface BrowserSessions {
  /** Whether this browser was shown a page for this principal. */
  has (request: FastifyRequest, principal: Principal): Promise<boolean>
  /** Opens a session where there is none. */
  open (request: FastifyRequest, reply: FastifyReply, principal: Principal): Promise<void>
}

export function createBrowserSessions (ring: KeyRing, cookies: Cookies): BrowserSessions {
  // iron-session seals with the highest number, and opens with any; the ring has the newest key first.
  const secrets = ring.derive('browser session cookie')
  const password = Object.fromEntries(secrets.map((secret, index) => [secrets.length - index, secret.toString('base64url')]))

  async function has (request: FastifyRequest, principal: Principal): Promise<boolean> {
    const { data } = schema.safeParse(await unseal(cookies.read(request, NAME) ?? '', password))
    return data !== undefined && data.owner === hashPrincipal(principal) && data.expiresAt > Date.now()
  }

  return {
    has,
    async open (request, reply, principal) {
      if (await has(request, principal)) return
      const data: z.infer<typeof schema> = { purpose: 'browser session', owner: hashPrincipal(principal), expiresAt: Date.now() + LIFETIME_MS }
      cookies.write(reply, NAME, await sealData(data, { password, ttl: LIFETIME_MS / 1000 }))
    }
  }
}

/** iron-session gives an empty object for some broken seals, and throws for others. */
async function unseal (seal: string, password: Record<string, string>): Promise<unknown> {
  try {
    return await unsealData(seal, { password, ttl: LIFETIME_MS / 1000 })
  } catch {
    return {}
  }
}
