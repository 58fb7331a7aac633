import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { shortCode } from '../errors.js'
import { outcomePage } from './pages/outcome.js'
import type { BrowserServices } from './services.js'

/** Where a page without success leads on to. */
export interface Next {
  readonly label: string
  readonly url: string
}

/**
 * Ends a request without success. The page and the log say what the error's code stands for, and nothing of what was
 * sent. A visitor who is not signed in and opened a page is taken to the host's sign-in, and back.
 */
export function sendOutcome ({ urls, signInUrl }: BrowserServices, error: FastifyError, request: FastifyRequest, reply: FastifyReply, next?: Next): FastifyReply {
  const status = error.statusCode ?? 500
  const code = shortCode(error)
  if (status < 500) request.log.info({ code: error.code }, 'mcp-connect: refused')
  else if (code !== '') request.log.error({ code: error.code }, `mcp-connect: ${error.message}`)
  else request.log.error({ err: error }, 'mcp-connect: failed')

  if (code !== 'SIGN_IN_REQUIRED') return send(next ?? { label: 'Your connections', url: urls.connections })
  // An authorization response is not parked: its query holds the code.
  const comesBack = request.method === 'GET' && Object.keys(request.query as object).length === 0
  const returnTo = comesBack ? urls.path(request.url) : new URL(urls.connections).pathname
  const signIn = signInUrl(returnTo)
  if (signIn !== null && comesBack) return reply.redirect(signIn, 303)
  return send(signIn === null ? { label: 'Your connections', url: urls.connections } : { label: 'Sign in', url: signIn })

  function send (to: Next): FastifyReply {
    return reply.code(status).send(outcomePage({ code, status, next: to }))
  }
}
