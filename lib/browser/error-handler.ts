import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { shortCode } from '../errors.js'
import { HTML, securityHeaders } from './headers.js'
import { outcomeOf, outcomePage } from './pages/outcome.js'
import { recall } from './request-notes.js'
import type { BrowserServices } from './services.js'
import { findSignInUrl } from './visitors.js'

/**
 * Ends a request without success. The page and the log say what the error's code stands for, and nothing of what was
 * sent. Errors of others, such as a host's
 * rate limiter's, keep their status.
 */
export function createErrorHandler (services: BrowserServices): (error: unknown, request: FastifyRequest, reply: FastifyReply) => FastifyReply {
  const { browser, urls } = services
  const headers = securityHeaders(urls.secure)

  function signInUrl (request: FastifyRequest, returnTo: string): string | null {
    try {
      return findSignInUrl(browser, returnTo)
    } catch (error) {
      request.log.error({ err: error }, 'mcp-connect: browser.signInUrl failed')
      return null
    }
  }

  /** The one clear next step. */
  function wayOn (way: 'retry' | 'sign in' | 'connections', request: FastifyRequest): { readonly label: string, readonly url: string } {
    const { retryUrl, visitor, returnTo = new URL(urls.connections).pathname } = recall(request)
    if (way === 'sign in') {
      const url = signInUrl(request, returnTo)
      if (url !== null) return { label: visitor === undefined ? 'Sign in' : 'Sign in with another account', url }
    }
    if (way === 'retry' && retryUrl !== undefined) return { label: 'Start again', url: retryUrl }
    return { label: 'Your connections', url: urls.connections }
  }

  return (thrown, request, reply) => {
    const error = (thrown instanceof Error ? thrown : new Error('something that is no Error was thrown')) as FastifyError
    const code = shortCode(error)
    const refusal = code !== '' || error.code?.startsWith('FST_') === true
    const status = statusOf(error)
    const provider = (request.params as { provider?: string } | undefined)?.provider
    const about = { code: error.code, route: request.routeOptions.url, ...services.providers.has(provider ?? '') && { provider } }
    if (!refusal) request.log.error({ err: error }, 'mcp-connect: failed')
    else if (status >= 500) request.log.error(about, `mcp-connect: ${error.message}`)
    else if (['SUBJECT_MISMATCH', 'ORIGIN_MISMATCH', 'ISS_MISMATCH'].includes(code)) request.log.warn(about, `mcp-connect: ${error.message}`)
    else request.log.info(about, 'mcp-connect: refused')

    const outcome = outcomeOf(code, status)
    const account = recall(request).visitor?.label
    // Fastify takes the content type back before it calls an error handler; and when a hook of the host refuses, ours has not run yet.
    return reply.code(status).headers(headers).type(HTML).send(outcomePage(outcome, wayOn(outcome.way, request), code === 'SUBJECT_MISMATCH' ? account : undefined))
  }
}

function statusOf ({ statusCode }: FastifyError): number {
  return Number.isInteger(statusCode) && statusCode! >= 400 && statusCode! <= 599 ? statusCode! : 500
}
