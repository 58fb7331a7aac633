import { randomBytes } from 'node:crypto'
import cookie from '@fastify/cookie'
import formbody from '@fastify/formbody'
import session from '@fastify/session'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { BrowserIdentity } from 'fastify-mcp-connect'
import { html } from 'ghtml'
import { page, pageHeaders, type Site } from './page.js'
import { demoPassword, type Person } from './people.js'

declare module 'fastify' {
  interface Session {
    /** Login name of whoever is signed in. */
    login?: string
  }
}

export interface LoginOptions {
  readonly site: Site
  readonly people: readonly Person[]
  /** The issuer that knows the same people by the same subjects: the MCP server's authorization server. */
  readonly issuer: string
}

const somewhere = 'http://app.invalid'

/** Takes a path on this server; everything else becomes the home page. */
export function safeReturnTo (value: unknown): string {
  if (typeof value !== 'string' || !/^\/(?!\/)[^\\\p{Cc}]*$/u.test(value) || !URL.canParse(value, somewhere)) return '/'
  const { origin, pathname, search } = new URL(value, somewhere)
  return origin === somewhere && !pathname.startsWith('//') ? `${pathname}${search}` : '/'
}

/**
 * The app's own login, as an app has it long before it speaks MCP: a form, a session, a cookie.
 * @returns what the plugin needs to know of it
 */
export async function addLogin (app: FastifyInstance, { site, people, issuer }: LoginOptions): Promise<BrowserIdentity> {
  await app.register(cookie)
  await app.register(formbody)
  await app.register(session, {
    secret: randomBytes(32).toString('base64url'),
    cookieName: 'app_session',
    cookie: { httpOnly: true, sameSite: 'lax', secure: false, path: '/' },
    saveUninitialized: false
  })

  const form = (returnTo: string, problem = '') => page(site, 'Sign in', html`
<form method="post" action="/login">
!${problem === '' ? '' : html`<p class="problem">${problem}</p>`}
<input type="hidden" name="returnTo" value="${returnTo}">
<label for="login">User</label>
<input id="login" name="login" autocomplete="username" required autofocus>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required>
<button type="submit">Sign in</button>
</form>`)
  const send = async (reply: FastifyReply, body: string) => await reply.headers(pageHeaders).send(body)

  app.get<{ Querystring: { returnTo?: string } }>('/login', async (request, reply) =>
    await send(reply, form(safeReturnTo(request.query.returnTo))))

  app.post<{ Body?: Partial<Record<'login' | 'password' | 'returnTo', string>> }>('/login', async (request, reply) => {
    const { login, password, returnTo } = request.body ?? {}
    const person = people.find(candidate => candidate.login === login)
    if (person == null || password !== demoPassword) {
      return await send(reply.code(422), form(safeReturnTo(returnTo), 'User or password is wrong.'))
    }
    await request.session.regenerate()
    request.session.login = person.login
    return await reply.redirect(safeReturnTo(returnTo), 303)
  })

  app.get('/logout', async (_request, reply) => await send(reply, page(site, 'Sign out', html`
<form method="post" action="/logout"><button type="submit">Sign out</button></form>`)))

  app.post('/logout', async (request, reply) => {
    await request.session.destroy()
    return await reply.redirect('/login', 303)
  })

  return {
    identify (request) {
      const person = people.find(({ login }) => login === request.session.login)
      return person == null ? null : { issuer, subject: person.subject, label: person.login }
    },
    signInUrl: returnTo => `/login?${new URLSearchParams({ returnTo }).toString()}`
  }
}
