import { createHash } from 'node:crypto'
import { STYLE } from './pages/layout.js'

export const HTML = 'text/html; charset=utf-8'
export const JSON_TYPE = 'application/json; charset=utf-8'

const styleHash = createHash('sha256').update(STYLE).digest('base64')

/** The headers of every answer, whatever its status. */
export function securityHeaders (secure: boolean): Readonly<Record<string, string>> {
  return {
    'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
    'x-frame-options': 'DENY',
    'x-content-type-options': 'nosniff',
    // With no-referrer, browsers would send `Origin: null` with our own forms.
    'referrer-policy': 'same-origin',
    'cache-control': 'no-store',
    vary: 'Accept, Cookie',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'x-robots-tag': 'noindex',
    ...secure && { 'strict-transport-security': 'max-age=31536000' }
  }
}
