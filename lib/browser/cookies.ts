import { fastifyCookie } from '@fastify/cookie'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { CookieInvalidError } from '../errors.js'

/** The plugin's cookies, by the ends of their names. Their values are cookie-safe as they are, so the host's ways of decoding have no part in them. */
export interface Cookies {
  /** What all names begin with, beside `__Host-`: that of this instance of the plugin. */
  readonly beginning: string
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
export async function createCookies (app: FastifyInstance, secure: boolean, beginning: string): Promise<Cookies> {
  if (!app.hasDecorator('serializeCookie')) await app.register(fastifyCookie, { hook: false })
  const prefix = `${secure ? '__Host-' : ''}${beginning}-`

  return {
    beginning,

    read (request, name) {
      const found = readPairs(request).filter(([key]) => key === prefix + name)
      if (found.length > 1) throw new CookieInvalidError()
      return found[0]?.[1]
    },

    names: (request, beginning) => readPairs(request).map(([key]) => key)
      .filter(key => key.startsWith(prefix + beginning)).map(key => key.slice(prefix.length)),

    write (reply, name, value, maxAgeSeconds) {
      // Lax survives the provider's redirect back to us, which is a top-level GET; Strict does not.
      reply.header('set-cookie', app.serializeCookie(prefix + name, value, {
        path: '/', secure, httpOnly: true, sameSite: 'lax', ...maxAgeSeconds !== undefined && { maxAge: maxAgeSeconds }
      }))
    }
  }
}

function readPairs ({ headers }: FastifyRequest): Array<readonly [name: string, value: string]> {
  return (headers.cookie ?? '').split(';').map(pair => {
    const [name = '', ...value] = pair.split('=')
    return [strip(name), strip(value.join('='))]
  })
}

/**
 * Takes off blanks as HTTP has them. trim() takes more, so that a name which no browser guards as `__Host-` would become one
 * that it does; and a regular expression takes too long for 16 KB of blanks.
 */
function strip (text: string): string {
  let [start, end] = [0, text.length]
  while (start < end && isBlank(text[start])) start++
  while (end > start && isBlank(text[end - 1])) end--
  return text.slice(start, end)
}

function isBlank (character: string | undefined): boolean {
  return character === ' ' || character === '\t'
}
