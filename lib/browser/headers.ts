import type { FastifyReply } from 'fastify'
import { createHash } from 'node:crypto'
import { STYLE } from './pages/layout.js'

export const HTML = 'text/html; charset=utf-8'
export const JSON_TYPE = 'application/json; charset=utf-8'

const styleHash = createHash('sha256').update(STYLE).digest('base64')

/** Writes the headers of every answer, whatever its status, when hooks of the host have written theirs. No other origin may read our pages. */
export function writeHeaders (reply: FastifyReply, secure: boolean): void {
  for (const name of Object.keys(reply.getHeaders())) {
    if (!name.startsWith('access-control-')) continue
    reply.removeHeader(name)
    reply.raw.removeHeader(name)                   // where middleware in the manner of Express writes; Fastify 5.0 leaves that
  }
  reply.headers({
    'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
    'x-frame-options': 'DENY',
    'x-content-type-options': 'nosniff',
    // With no-referrer, browsers would send `Origin: null` with our own forms.
    'referrer-policy': 'same-origin',
    'cache-control': 'no-store',
    vary: vary(reply),
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'x-robots-tag': 'noindex',
    ...secure && { 'strict-transport-security': 'max-age=31536000' }
  })
}

/** The host's own, such as `Origin`, and ours. */
function vary (reply: FastifyReply): string {
  const names = String(reply.getHeader('vary') ?? '').split(',').map(name => name.trim()).filter(name => name !== '')
  return [...new Set([...names, 'Accept', 'Cookie'])].join(', ')
}
