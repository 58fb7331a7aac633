import { parseJson } from './dialect.js'

/** No server is left alone for longer, whatever it says. */
const MAX_RETRY_AFTER_MS = 60 * 60_000
/** How deep error codes may stand in an answer. */
const MAX_DEPTH = 3

/** Whatever could be an error code in a body, wherever servers put it. Only to be compared with codes that are known. */
export async function codesIn (response: Response): Promise<readonly string[]> {
  return textsIn(parseJson(await response.text().catch(() => '')))
}

function textsIn (value: unknown, depth = 0): readonly string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null || depth === MAX_DEPTH) return []
  return Object.values(value).flatMap(one => textsIn(one, depth + 1))
}

/** When to come back, by `Retry-After`: seconds, or a date (RFC 9110 section 10.2.3). */
export function retryAfter (response: Response | undefined): { readonly retryAfterMs?: number } {
  const value = response?.headers.get('retry-after') ?? null
  if (value === null) return {}
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now()
  return Number.isNaN(ms) ? {} : { retryAfterMs: Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS) }
}
