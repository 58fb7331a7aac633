import { isIP } from 'node:net'
import { domainToUnicode } from 'node:url'
import { mayRequest } from '../ip-address.js'
import { isLoopback, isSecure } from '../loopback.js'
import { mixesScripts } from './scripts.js'
import type { Checked, UrlRequest, UrlWarning } from './types.js'

/** About what Windows opens; and nobody reviews more. */
const MAX_LENGTH = 2048

export type CheckedUrl = Pick<UrlRequest, 'url' | 'host' | 'warnings'>

/**
 * Whether a URL may be shown and opened, and what is worth a second look. Nothing is fetched and no name is looked up, neither here nor later.
 * (MCP 2025-11-25, elicitation, "Safe URL Handling"; SEP-1036, "URL Security Requirements")
 */
export function checkUrl (text: string, loopback: boolean): Checked<CheckedUrl> {
  if (text.length > MAX_LENGTH) return { ok: false, refusal: 'too_long' }
  if (!URL.canParse(text)) return { ok: false, refusal: 'not_absolute' }
  const url = new URL(text)
  if (!isSecure(url, loopback)) return { ok: false, refusal: 'not_https' }
  if (url.username + url.password !== '') return { ok: false, refusal: 'userinfo' }
  if (!mayRequest(url, { privateHosts: [], loopback }) || (isLocalhost(url) && !loopback)) return { ok: false, refusal: 'private_address' }
  if (url.href.length > MAX_LENGTH) return { ok: false, refusal: 'too_long' }
  return { ok: true, value: describe(url) }
}

/** Names that lead to this machine without being looked up (RFC 6761 section 6.3). */
function isLocalhost ({ hostname }: URL): boolean {
  return isLoopback(hostname) || /(?:^|\.)localhost\.?$/.test(hostname)
}

function describe (url: URL): CheckedUrl {
  const { hostname: ascii, href, port } = url
  const isAddress = isIP(ascii.replace(/^\[|\]$/g, '')) !== 0
  const unicode = isAddress ? ascii : domainToUnicode(ascii) || ascii
  const warnings: Readonly<Record<UrlWarning, boolean>> = {
    punycode: /(?:^|\.)xn--/.test(ascii),
    mixed_scripts: unicode.split('.').some(mixesScripts),
    unusual_port: port !== '',
    ip_address: isAddress,
    local_name: !isAddress && /^[^.]+\.?$|\.(?:local|localhost|internal|lan|home\.arpa)\.?$/.test(ascii)
  }
  return { url: href, host: { ascii, unicode }, warnings: (Object.keys(warnings) as UrlWarning[]).filter(warning => warnings[warning]) }
}
