import type { FastifyReply, FastifyRequest } from 'fastify'
import { STATUS_CODES } from 'node:http'
import { RateLimitedError, shortCode } from '../errors.js'
import { HTML, JSON_TYPE } from './headers.js'
import { endingOf, endingPage, type Ending } from './pages/ending.js'
import { tellRefusal } from './refusals.js'
import { recall } from './request-notes.js'
import type { BrowserServices } from './services.js'
import { findSignInUrl, findSwitchAccountUrl } from './visitors.js'

/** Of ours and of Fastify itself: what is logged of them is safe. */
const OURS = /^FST_(MCP_CONNECT|ERR)_/

/**
 * Ends a request without success: with a page, or with JSON for whoever takes that and no pages. Both say what the error's code
 * stands for, and nothing of what was sent. Errors of others, such as those of a host's rate limiter, keep their status; the log
 * says more of them.
 */
export function createErrorHandler (services: BrowserServices): (error: unknown, request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  const { browser, urls, limits } = services

  function signInUrl (request: FastifyRequest, returnTo: string): string | null {
    const { visitor = null } = recall(request)
    try {
      return (visitor === null ? null : findSwitchAccountUrl(browser, returnTo)) ?? findSignInUrl(browser, returnTo)
    } catch (error) {
      request.log.error({ err: error }, 'mcp-connect: browser.signInUrl failed')
      return null
    }
  }

  /** The one clear next step. */
  function wayOn (way: Ending['way'], request: FastifyRequest): { readonly label: string, readonly url: string } {
    const { elicitationId, visitor = null, returnTo = new URL(urls.connections).pathname } = recall(request)
    if (way === 'sign in') {
      const url = signInUrl(request, returnTo)
      if (url !== null) return { label: visitor === null ? 'Sign in' : 'Sign in with another account', url }
    }
    if (way === 'retry' && elicitationId !== undefined) return { label: 'Start again', url: urls.elicitation(elicitationId) }
    if (way === 'look again' && elicitationId !== undefined) return { label: 'Look again', url: urls.elicitation(elicitationId, 'done') }
    return { label: 'Your connections', url: urls.connections }
  }

  /** What the host refuses is its own to audit. @param code empty for errors of others, which may hold anything */
  function tell (thrown: unknown, code: string, status: number, request: FastifyRequest): void {
    const error = thrown instanceof Error ? thrown : new Error('something that is no Error was thrown')
    if (code !== '' || status >= 500) tellRefusal(services, error, code, status, request)
    else request.log.warn({ route: request.routeOptions.url, status, reason: error.message }, 'mcp-connect: refused by this application')
  }

  /** What we refuse before it is known who sent it is counted by address. Faults, and what the host refuses, are told as they are. */
  async function limited (refusal: unknown, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const { code, status } = readError(refusal, reply)
    if (recall(request).visitor !== undefined || code === '' || status >= 500) return refusal
    return await limits.check(request, null).then(() => refusal, (error: unknown) => error)
  }

  return async (refusal, request, reply) => {
    const thrown = await limited(refusal, request, reply)
    const { code, status } = readError(thrown, reply)
    try {
      tell(thrown, code, status, request)
    } catch {
      request.log.error('mcp-connect: failed, by an error that cannot be logged')
    }

    const ending = endingOf(shortCode(code), status)
    if (thrown instanceof RateLimitedError) reply.header('retry-after', Math.ceil(thrown.retryAfterMs / 1000))
    // Fastify takes the content type back before it calls an error handler.
    reply.code(status)
    if (wantsJson(request)) return reply.type(JSON_TYPE).send(JSON.stringify({ statusCode: status, code, error: STATUS_CODES[status], message: ending.text }))
    const account = shortCode(code) === 'SUBJECT_MISMATCH' ? recall(request).visitor?.label : undefined
    return reply.type(HTML).send(endingPage(ending, wayOn(ending.way, request), account))
  }
}

function wantsJson ({ headers: { accept = '' } }: FastifyRequest): boolean {
  return accept.includes('application/json') && !accept.includes('text/html')
}

/**
 * Hosts throw what they like, plain objects for example. As with Fastify's own handler, the status is the error's, or one
 * that was set before it was thrown.
 */
function readError (thrown: unknown, reply: FastifyReply): { readonly code: string, readonly status: number } {
  try {
    const { code, statusCode, status } = Object(thrown) as Readonly<Record<string, unknown>>
    return {
      code: typeof code === 'string' && OURS.test(code) ? code : '',
      status: [statusCode, status, reply.statusCode].find(isErrorStatus) ?? 500
    }
  } catch {
    return { code: '', status: 500 }               // its properties throw
  }
}

function isErrorStatus (status: unknown): status is number {
  return Number.isInteger(status) && Number(status) >= 400 && Number(status) <= 599
}
