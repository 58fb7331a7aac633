import t from 'tap'
import type { AuditEventName } from '../../lib/audit-events.js'
import { tellRefusal } from '../../lib/browser/refusals.js'
import { remember } from '../../lib/browser/request-notes.js'
import * as errors from '../../lib/errors.js'
import { auditIdsOf } from '../../lib/principal.js'
import { A, B } from '../fixtures/server.js'

/** The event of each error that a request of a browser may end with, by its code. */
const EVENTS: Readonly<Record<string, AuditEventName>> = {
  SIGN_IN_REQUIRED: 'request.refused',
  SESSION_LOST: 'callback.session_missing',
  SIGN_IN_INVALID: 'session.refused',
  SIGN_IN_DECLINED: 'session.refused',
  SIGN_IN_FAILED: 'request.failed',
  SUBJECT_MISMATCH: 'elicitation.subject_mismatch',
  FLOW_COOKIE_MISSING: 'callback.flow_cookie_missing',
  COOKIE_INVALID: 'request.refused',
  CSRF_FAILED: 'csrf.failed',
  ORIGIN_MISMATCH: 'csrf.failed',
  FORM_INVALID: 'csrf.failed',
  NAVIGATION_REQUIRED: 'request.refused',
  NOT_AUTHORIZED: 'request.refused',
  NOT_FOUND: 'request.refused',
  METHOD_NOT_ALLOWED: 'request.refused',
  HELD: 'request.refused',
  DISCONNECTED: 'request.refused',
  EXPIRED: 'elicitation.expired',
  CONSUMED: 'request.refused',
  STATE_INVALID: 'callback.state_invalid',
  CONTEXT_MISMATCH: 'callback.context_mismatch',
  ISS_MISMATCH: 'callback.iss_mismatch',
  RESPONSE_INVALID: 'callback.response_invalid',
  PROVIDER_REFUSED: 'request.failed',
  SCOPE_REFUSED: 'request.failed',
  EXCHANGE_FAILED: 'request.failed',
  PROVIDER_UNAVAILABLE: 'request.failed',
  PROVIDER_MISCONFIGURED: 'request.failed',
  RATE_LIMITED: 'ratelimit.hit'
}

/** What is another one at a redirection endpoint. */
const AT: Readonly<Record<string, Readonly<Record<string, AuditEventName>>>> = {
  '/connect/': {},
  '/connect/:id/start': {},
  '/connect/callback/:provider': { SIGN_IN_REQUIRED: 'callback.session_missing', CONSUMED: 'callback.replay' },
  '/connect/login/callback': { ISS_MISMATCH: 'session.refused' }
}

type RequestError = Error & { readonly code: string, readonly statusCode: number }

/** Those that a browser is told of in words of their own. */
function requestErrors (): RequestError[] {
  return Object.values(errors).filter(value => typeof value === 'function' && ![errors.shortCode, errors.NotRunError].includes(value as never))
    .map(Class => new (Class as new (...args: unknown[]) => RequestError)('principal', true, 1000))
    .filter(({ statusCode }) => statusCode < 500 || statusCode === 502)
}

t.test('LOG-10 every refusal has its event, which names who was refused, of what, and why', t => {
  t.strictSame(requestErrors().map(({ code }) => errors.shortCode(code)).sort(), Object.keys(EVENTS).sort(), 'each has one')
  for (const error of requestErrors()) {
    const code = errors.shortCode(error.code)
    for (const [route, events] of Object.entries(AT)) {
      const logged: unknown[] = []
      const request = { routeOptions: { url: route }, params: { provider: 'acme' }, log: { debug: (...line: unknown[]) => { logged.push(line) } } } as never
      const elicitation = 'e'.repeat(64)
      const mismatch = code === 'SUBJECT_MISMATCH'
      remember(request, { visitor: { principal: A, label: 'a' }, about: { provider: 'acme', elicitation }, ...mismatch && { mismatch: { owner: B, differing: ['subject'] as const } } })
      const told: unknown[] = []
      const services = { audit: (event: string, facts: object) => { told.push({ event, ...facts }) }, providers: new Map([['acme', {}]]) } as never
      tellRefusal(services, error, error.code, error.statusCode, request)
      const facts = error instanceof errors.RateLimitedError ? { limit: 'principal' } : { provider: 'acme', elicitation, code: error.code, ...mismatch && { owner: auditIdsOf(B).principal, differing: ['subject'] } }
      t.strictSame(told, [{ event: events[code] ?? EVENTS[code], ...auditIdsOf(A), ...facts }], `${error.code} at ${route}`)
      t.strictSame(logged, [])
    }
  }
  t.end()
})

t.test('LOG-10 a fault of others is told as one, without its words', t => {
  const told: unknown[] = []
  const request = { routeOptions: {}, params: {} } as never
  tellRefusal({ audit: (event: string, facts: object) => { told.push({ event, ...facts }) }, providers: new Map() } as never, Object.assign(new Error('canary'), { code: 'canary' }), '', 500, request)
  t.strictSame(told, [{ event: 'request.failed', code: 'OTHER' }])
  t.end()
})

t.test('LOG-10 what is not known is not told: nobody, and a provider that there is not', t => {
  for (const [visitor, about] of [[null, {}], [{ principal: B, label: 'b' }, auditIdsOf(B)]] as const) {
    const request = { routeOptions: {}, params: { provider: 'unknown' } } as never
    remember(request, { visitor })
    const told: unknown[] = []
    const error = new errors.NotFoundError()
    tellRefusal({ audit: (event: string, facts: object) => { told.push({ event, ...facts }) }, providers: new Map() } as never, error, error.code, 404, request)
    t.strictSame(told, [{ event: 'request.refused', ...about, code: 'FST_MCP_CONNECT_NOT_FOUND' }])
  }
  t.end()
})
