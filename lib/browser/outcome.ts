import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { shortCode } from '../errors.js'
import { HTML } from './headers.js'
import { outcomePage } from './pages/outcome.js'
import type { BrowserServices } from './services.js'

interface Way {
  /** The page that a retry begins at. @default the connections page */
  readonly retryUrl?: string
  /** Whether the address can be opened again after signing in. An authorization response cannot: its query holds the code. */
  readonly comesBack: boolean
}

/**
 * Ends a request without success. The page and the log say what the error's code stands for, and nothing of what was
 * sent. A visitor who opened a page without being signed in is taken to the host's sign-in, and back.
 */
export function sendOutcome ({ urls, signInUrl }: BrowserServices, error: FastifyError, request: FastifyRequest, reply: FastifyReply,
  { retryUrl, comesBack }: Way): FastifyReply {
  const status = error.statusCode ?? 500
  const code = shortCode(error)
  if (status < 500) request.log.info({ code: error.code }, 'mcp-connect: refused')
  else if (code !== '') request.log.error({ code: error.code }, `mcp-connect: ${error.message}`)
  else request.log.error({ err: error }, 'mcp-connect: failed')

  const path = new URL(request.url, urls.origin).pathname
  const signIn = code === 'SIGN_IN_REQUIRED' ? signInUrl(comesBack ? urls.path(path) : new URL(urls.connections).pathname) : null
  if (signIn !== null && comesBack) return reply.redirect(signIn, 303)
  const next = signIn !== null
    ? { label: 'Sign in', url: signIn }
    : retryUrl !== undefined ? { label: 'Start again', url: retryUrl } : { label: 'Your connections', url: urls.connections }
  // Fastify takes the content type back before it calls an error handler.
  return reply.code(status).type(HTML).send(outcomePage({ code, status, next }))
}
