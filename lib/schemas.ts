import { z } from 'zod'

/** Text that is shown to people: one line, without characters that could reorder or hide it. */
export function displayText (maxLength: number): z.ZodString {
  return z.string(`must be a text of 1 to ${maxLength} characters`)
    .min(1, `must be a text of 1 to ${maxLength} characters`).max(maxLength, `must be a text of 1 to ${maxLength} characters`)
    .regex(/^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]*$/u, 'must not hold control or formatting characters')
}

/** The same, in what is sent to MCP clients. */
export function clientText (maxLength: number): z.ZodString {
  return displayText(maxLength).refine(text => !text.includes('://'), 'must not hold a URL: clients show it as text')
}

/** One scope (RFC 6749 section 3.3). */
export const scopeSchema = z.string('must be one scope').regex(/^[\x21\x23-\x5B\x5D-\x7E]+$/,
  'must be one scope: printable ASCII without spaces or quotes (RFC 6749 section 3.3)')

export const scopesSchema = z.array(scopeSchema, "must be a list of scopes, such as ['issues:read']")

/** A duration in milliseconds. */
export function durationSchema (min: number, max: number): z.ZodInt {
  const message = `must be milliseconds, from ${min} to ${max} (${describeDuration(max)})`
  return z.int(message).min(min, message).max(max, message)
}

function describeDuration (ms: number): string {
  const days = ms / (24 * 60 * 60_000)
  if (days < 1) return `${ms / 1000} seconds`
  return days === 1 ? 'a day' : `${days} days`
}

const SYMBOL = 'allowLoopbackHttp is a symbol to import, where it is known: [allowLoopbackHttp]: true'

/** What is wrong with an object as such: it is none, or it has members that are unknown. */
export function objectErrors (known: readonly string[]): (issue: { readonly code?: string, readonly keys?: readonly string[] }) => string {
  return ({ code, keys = [] }) => code === 'unrecognized_keys'
    ? `unknown: ${keys.join(', ')}; known are: ${known.join(', ')}${keys.includes('allowLoopbackHttp') ? `; ${SYMBOL}` : ''}`
    : `must be an object of: ${known.join(', ')}`
}
