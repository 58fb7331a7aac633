// npm install @fastify/cookie @fastify/session
import cookie from '@fastify/cookie'
import session from '@fastify/session'
import Fastify, { type FastifyInstance } from 'fastify'
import { mcpConnect, type McpConnectOptions } from 'fastify-mcp-connect'

declare module 'fastify' {
  interface Session { user?: { id: string, email: string } }
}

export interface AppOptions extends Omit<McpConnectOptions, 'browser'> {
  /** `iss` of the access tokens of your MCP endpoint; their `sub` is the `id` of a user here. */
  readonly issuer: string
  /** At least 32 characters. */
  readonly sessionSecret: string
}

/**
 * An application with a login of its own. Its page, /login, is yours: it puts whoever signs in into `request.session.user`, then
 * sends them to `returnTo`, which it takes for a path of this server and nothing else. With `switch` it asks again, signed in or not.
 */
export async function buildApp ({ issuer, sessionSecret, ...options }: AppOptions): Promise<FastifyInstance> {
  const app = Fastify({ trustProxy: 'loopback' }) // your proxy: without it, a session behind TLS is not kept
  await app.register(cookie)
  await app.register(session, {
    secret: sessionSecret,
    // A 'strict' one is not sent when the provider sends the browser back; 'auto' lets it through without TLS, as on localhost.
    cookie: { sameSite: 'lax', secure: 'auto' },
    saveUninitialized: false
  })

  await app.register(mcpConnect, { // after the session plugin, so that its hooks run first
    ...options,
    browser: {
      identify ({ session: { user } }) { // of the session alone, never of the URL or a form
        return user === undefined ? null : { issuer, subject: user.id, label: user.email }
      },
      signInUrl: returnTo => `/login?${new URLSearchParams({ returnTo }).toString()}`,
      switchAccountUrl: returnTo => `/login?${new URLSearchParams({ returnTo, switch: 'true' }).toString()}`
    }
  })
  return app
}
