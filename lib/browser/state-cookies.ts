import type { FastifyReply, FastifyRequest } from 'fastify'
import { hashFields } from '../encoding.js'
import type { Cookies } from './cookies.js'

const MAX_COOKIES = 5

/** One cookie for each thing that was begun in a browser: it shows that what follows comes from there. */
export interface StateCookies {
  write (request: FastifyRequest, reply: FastifyReply, state: string, value: string): void
  read (request: FastifyRequest, state: string): string | undefined
  /** The values of all that are there, the oldest first. */
  readAll (request: FastifyRequest): readonly string[]
  clear (reply: FastifyReply, state: string): void
  clearAll (request: FastifyRequest, reply: FastifyReply): void
}

/** @param kind stands in the names; cookies of one kind do not push out those of another */
export function createStateCookies (cookies: Cookies, kind: 'flow' | 'login' | 'form', lifetimeMs: number): StateCookies {
  const prefix = `${kind}-`
  const nameOf = (state: string): string => prefix + hashFields(`${kind} cookie name`, state).slice(0, 16)
  /** What looks otherwise is not ours, and may have a name that cannot be written. */
  const namesIn = (request: FastifyRequest): readonly string[] =>
    cookies.names(request, prefix).filter(name => /^[0-9a-f]{16}$/.test(name.slice(prefix.length)))

  return {
    write (request, reply, state, value) {
      const old = namesIn(request)
      for (const name of old.slice(0, Math.max(0, old.length - MAX_COOKIES + 1))) cookies.write(reply, name, '', 0)
      cookies.write(reply, nameOf(state), value, lifetimeMs / 1000)
    },
    read: (request, state) => cookies.read(request, nameOf(state)),
    readAll: request => namesIn(request).map(name => cookies.read(request, name)!),
    clear: (reply, state) => cookies.write(reply, nameOf(state), '', 0),
    clearAll (request, reply) {
      for (const name of namesIn(request)) cookies.write(reply, name, '', 0)
    }
  }
}
