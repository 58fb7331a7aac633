import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { BrowserSession, BrowserSessions } from '../../state/browser-sessions.js'
import type { OidcLogin } from '../../types.js'
import type { KeyRing } from '../../vault/key-ring.js'
import type { Cookies } from '../cookies.js'
import { createSeals } from '../seals.js'

const NAME = 'session'

/** The browser's side of a session: a sealed cookie that holds its id, and nothing of the user. */
export interface SessionCookie {
  /** The session of this browser, if it is alive. */
  find (request: FastifyRequest): Promise<BrowserSession | null>
  /** Begins a session, with an id of its own, and ends the one that this browser had. */
  begin (request: FastifyRequest, reply: FastifyReply, user: Omit<BrowserSession, 'endsAt'>): Promise<void>
  end (request: FastifyRequest, reply: FastifyReply): Promise<void>
}

/** Sessions are bound to the registration that they were begun with: another one may call its users differently. */
export function createSessionCookie (ring: KeyRing, cookies: Cookies, sessions: BrowserSessions, { issuer, clientId, resource = '', absoluteTtlMs }: OidcLogin): SessionCookie {
  const seals = createSeals(ring, JSON.stringify([cookies.beginning, 'session', issuer, clientId, resource]), absoluteTtlMs, z.object({ id: z.string() }))
  const idOf = async (request: FastifyRequest): Promise<string | undefined> => (await seals.open(cookies.read(request, NAME)))?.id

  return {
    async find (request) {
      const id = await idOf(request)
      return id === undefined ? null : await sessions.find(id)
    },

    async begin (request, reply, user) {
      const old = await idOf(request)
      const id = await sessions.begin(user)
      // Until the browser closes: how long it lives is for the server to say.
      cookies.write(reply, NAME, await seals.seal({ id }))
      if (old !== undefined) await sessions.end(old)
    },

    async end (request, reply) {
      const id = await idOf(request)
      if (id !== undefined) await sessions.end(id)
      cookies.write(reply, NAME, '', 0)
    }
  }
}
