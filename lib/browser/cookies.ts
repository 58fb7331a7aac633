import { fastifyCookie } from '@fastify/cookie'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { CookieInvalidError } from '../errors.js'

/** The plugin's cookies, read from the header itself, so that no other cookie plugin's settings matter. */
export interface Cookies {
  /** @throws FST_MCP_CONNECT_COOKIE_INVALID when the cookie is there twice: a sibling domain may have planted one */
  read (request: FastifyRequest, name: string): string | undefined
  /** The names that begin so, the oldest first (RFC 6265 section 5.4). */
  names (request: FastifyRequest, beginning: string): readonly string[]
  /** @param maxAgeSeconds omitted: until the browser closes; 0: delete it */
  write (reply: FastifyReply, name: string, value: string, maxAgeSeconds?: number): void
}

/**
 * Uses the host's @fastify/cookie where there is one, since it cannot be registered twice.
 * @param secure `false` on loopback without TLS, where browsers take no `__Host-` cookies
 */
export async function createCookies (app: FastifyInstance, secure: boolean): Promise<Cookies> {
  if (!app.hasDecorator('parseCookie')) await app.register(fastifyCookie, { hook: false })
  const fullName = (name: string): string => secure ? `__Host-${name}` : name

  const pairs = (request: FastifyRequest): string[] =>
    (request.headers.cookie ?? '').split(';').map(pair => pair.split('=', 1)[0]!.trim())

  return {
    read (request, name) {
      if (pairs(request).filter(pair => pair === fullName(name)).length > 1) throw new CookieInvalidError()
      return app.parseCookie(request.headers.cookie ?? '')[fullName(name)]
    },

    names (request, beginning) {
      return pairs(request).filter(pair => pair.startsWith(fullName(beginning))).map(pair => pair.slice(fullName('').length))
    },

    write (reply, name, value, maxAgeSeconds) {
      // Lax survives the provider's redirect back to us, which is a top-level GET; Strict does not.
      reply.header('set-cookie', app.serializeCookie(fullName(name), value, {
        path: '/', secure, httpOnly: true, sameSite: 'lax', ...maxAgeSeconds !== undefined && { maxAge: maxAgeSeconds }
      }))
    }
  }
}
