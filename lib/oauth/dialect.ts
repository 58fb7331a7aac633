import type { Registration } from '../types.js'
import type { Fetch } from './outbound.js'

/**
 * Has a provider's token endpoints spoken to in its own way: token requests in JSON, an access token response that stands inside of
 * another object (some do so only when they redeem a code), headers of its own. What goes to other addresses, and answers that are no JSON, stay as they are.
 */
export function inDialect (registration: Registration, isTokenEndpoint: (url: string) => boolean, fetch: Fetch): Fetch {
  const { tokenRequestFormat, tokenResponsePath, requestHeaders } = registration
  return async (url, init) => {
    const headers = new Headers(init.headers)
    for (const [name, value] of Object.entries(requestHeaders ?? {})) headers.set(name, value)
    if (!isTokenEndpoint(url)) return await fetch(url, { ...init, headers: [...headers] })
    const body = tokenRequestFormat === 'json' ? JSON.stringify(Object.fromEntries(new URLSearchParams(String(init.body)))) : init.body
    if (tokenRequestFormat === 'json') headers.set('content-type', 'application/json')
    const response = await fetch(url, { ...init, headers: [...headers], ...body !== undefined && { body } })
    return tokenResponsePath === undefined ? response : await unwrap(response, tokenResponsePath)
  }
}

async function unwrap (response: Response, path: string): Promise<Response> {
  const text = await response.text()
  const { status, headers } = response
  const answer = parseJson(text)
  const tokens = [valueAt(answer, path), answer].find(one => valueAt(one, 'access_token') !== undefined)
  // There token_type tells whose token it is; all of them are bearer tokens.
  return new Response(tokens === undefined ? text : JSON.stringify({ ...tokens, token_type: 'bearer' }), { status, headers })
}

/** What stands at a path, such as `user.id`, of names that are the object's own. */
export function valueAt (value: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((at, name) =>
    typeof at === 'object' && at !== null && Object.hasOwn(at, name) ? (at as Record<string, unknown>)[name] : undefined, value)
}

export function parseJson (text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
