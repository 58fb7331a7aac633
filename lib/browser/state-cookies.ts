import type { FastifyReply, FastifyRequest } from 'fastify'
import { hashFields } from '../encoding.js'
import type { Cookies } from './cookies.js'

const MAX_COOKIES = 5

/** One cookie per authorization request: it shows that the response comes to the browser that the request was made in. */
export interface StateCookies {
  write (request: FastifyRequest, reply: FastifyReply, state: string, value: string): void
  read (request: FastifyRequest, state: string): string | undefined
  clear (reply: FastifyReply, state: string): void
}

/** @param kind stands in the names; cookies of one kind do not push out those of another */
export function createStateCookies (cookies: Cookies, kind: 'flow' | 'login', lifetimeMs: number): StateCookies {
  const prefix = `${kind}-`
  const nameOf = (state: string): string => prefix + hashFields(`${kind} cookie name`, state).slice(0, 16)
  return {
    write (request, reply, state, value) {
      // What looks otherwise is not ours, and may have a name that cannot be written.
      const old = cookies.names(request, prefix).filter(name => /^[0-9a-f]{16}$/.test(name.slice(prefix.length)))
      for (const name of old.slice(0, Math.max(0, old.length - MAX_COOKIES + 1))) cookies.write(reply, name, '', 0)
      cookies.write(reply, nameOf(state), value, lifetimeMs / 1000)
    },
    read: (request, state) => cookies.read(request, nameOf(state)),
    clear: (reply, state) => cookies.write(reply, nameOf(state), '', 0)
  }
}
