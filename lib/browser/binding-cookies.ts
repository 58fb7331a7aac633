import type { FastifyReply, FastifyRequest } from 'fastify'
import { hashFields } from '../encoding.js'
import type { Cookies } from './cookies.js'

const MAX_COOKIES = 5

/**
 * One cookie for each thing that was begun in a browser, which binds it to that browser: what follows must come from there
 * (RFC 9700 section 4.7.1). `key` is what it is known by: the `state` of a request, or the id of a form.
 */
export interface BindingCookies {
  write (request: FastifyRequest, reply: FastifyReply, key: string, value: string): void
  read (request: FastifyRequest, key: string): string | undefined
  /** The values of all that are there, the oldest first. */
  readAll (request: FastifyRequest): readonly string[]
  clear (reply: FastifyReply, key: string): void
  clearAll (request: FastifyRequest, reply: FastifyReply): void
}

/** @param kind stands in the names; cookies of one kind do not push out those of another */
export function createBindingCookies (cookies: Cookies, kind: 'flow' | 'login' | 'form', lifetimeMs: number): BindingCookies {
  const prefix = `${kind}-`
  const nameOf = (key: string): string => prefix + hashFields(`${kind} cookie name`, key).slice(0, 16)
  /** What looks otherwise is not ours, and may have a name that cannot be written. */
  const namesIn = (request: FastifyRequest): readonly string[] =>
    cookies.names(request, prefix).filter(name => /^[0-9a-f]{16}$/.test(name.slice(prefix.length)))

  return {
    write (request, reply, key, value) {
      const old = namesIn(request)
      for (const name of old.slice(0, Math.max(0, old.length - MAX_COOKIES + 1))) cookies.write(reply, name, '', 0)
      cookies.write(reply, nameOf(key), value, lifetimeMs / 1000)
    },
    read: (request, key) => cookies.read(request, nameOf(key)),
    readAll: request => namesIn(request).map(name => cookies.read(request, name)!),
    clear: (reply, key) => cookies.write(reply, nameOf(key), '', 0),
    clearAll (request, reply) {
      for (const name of namesIn(request)) cookies.write(reply, name, '', 0)
    }
  }
}
