import type { FastifyRequest } from 'fastify'
import type { AuditedRefusal, RefusalEventName } from '../audit-events.js'
import { RateLimitedError, shortCode, SubjectMismatchError } from '../errors.js'
import { auditIdsOf, hashPrincipal } from '../principal.js'
import { recall } from './request-notes.js'
import type { BrowserServices } from './services.js'
import { CALLBACK_ROUTES } from './urls.js'

/** Of requests that were turned down; others are `request.refused`. */
const EVENTS = new Map<string, RefusalEventName>(Object.entries({
  EXPIRED: 'elicitation.expired',
  STATE_INVALID: 'callback.state_invalid',
  CONTEXT_MISMATCH: 'callback.context_mismatch',
  FLOW_COOKIE_MISSING: 'callback.flow_cookie_missing',
  ISS_MISMATCH: 'callback.iss_mismatch',
  RESPONSE_INVALID: 'callback.response_invalid',
  SESSION_LOST: 'callback.session_missing',
  CSRF_FAILED: 'csrf.failed',
  ORIGIN_MISMATCH: 'csrf.failed',
  FORM_INVALID: 'csrf.failed',
  SIGN_IN_INVALID: 'session.refused',
  SIGN_IN_DECLINED: 'session.refused'
}))

/** What they mean at the redirection endpoint of a provider. */
const AT_CALLBACK = new Map<string, RefusalEventName>(Object.entries({
  CONSUMED: 'callback.replay',
  SIGN_IN_REQUIRED: 'callback.session_missing'
}))

/** At that of the login. */
const AT_LOGIN = new Map<string, RefusalEventName>(Object.entries({
  ISS_MISMATCH: 'session.refused'
}))

const AT: ReadonlyArray<readonly [ending: string, events: ReadonlyMap<string, RefusalEventName>]> = [...CALLBACK_ROUTES.map(route => [route, AT_CALLBACK] as const), ['/login/callback', AT_LOGIN]]

/** Instead of the code of an error that is neither ours nor Fastify's. */
const OTHER = 'OTHER'

/**
 * Tells of a request that ends with an error of ours or of Fastify's, or with a fault of others: one event for each, in words of
 * ours. The log says more for the operator: what our errors say is safe, and what is behind a fault is for the log alone.
 * @param code empty for errors of others
 */
export function tellRefusal ({ audit, providers }: BrowserServices, error: Error, code: string, status: number, request: FastifyRequest): void {
  const { visitor = null, about, mismatch } = recall(request)
  const route = request.routeOptions.url
  const { provider = '' } = (request.params ?? {}) as { provider?: string }
  const who = visitor === null ? {} : auditIdsOf(visitor.principal)
  const facts: AuditedRefusal = { ...who, ...providers.has(provider) && { provider }, ...about, code: code === '' ? OTHER : code }
  const fault = code === '' ? error : error.cause
  const details = { log: request.log, route, ...shortCode(code) !== '' && { reason: error.message }, ...status >= 500 && fault !== undefined && { err: fault } }

  if (error instanceof RateLimitedError) {
    const { limit, first, retryAfterMs } = error
    if (first) audit('ratelimit.hit', { ...who, limit }, { ...details, reason: `a visitor has reached limits.${limit}`, retryAfterMs })
    else request.log.debug({ route, limit, retryAfterMs }, 'mcp-connect: refused, beyond a limit')
  } else if (visitor !== null && about !== undefined && mismatch !== undefined) {
    // To another tenant the error says that there is nothing; the operator reads what differs, and how to mend it.
    const { owner, differing } = mismatch
    const reason = new SubjectMismatchError(differing.join(' and ')).message
    audit('elicitation.subject_mismatch', { ...auditIdsOf(visitor.principal), ...about, owner: hashPrincipal(owner), code, differing }, { ...details, reason })
  } else audit(eventOf(shortCode(code), status, route), facts, details)
}

function eventOf (code: string, status: number, route = ''): RefusalEventName {
  const there = AT.find(([ending]) => route.endsWith(ending))?.[1].get(code)
  return there ?? EVENTS.get(code) ?? (status < 500 ? 'request.refused' : 'request.failed')
}
