import { ApiOriginError } from '../errors.js'
import type { Connection, Grant, Provider } from '../types.js'

/** Makes the handle that a guarded handler receives. */
export function createConnection (key: string, { apiOrigins }: Provider, grant: Grant): Connection {
  // The grant lives in this closure alone: no property of the handle leads to it.
  return Object.freeze({
    provider: key,
    scopes: Object.freeze([...grant.scopes]),
    expiresAt: grant.expiresAt,
    account: grant.account && Object.freeze({ ...grant.account }),
    async accessToken () {
      return grant.accessToken
    },
    async fetch (input: string | URL | Request, init?: RequestInit) {
      const url = parseUrl(input instanceof Request ? input.url : String(input))
      if (!apiOrigins.includes(url.origin)) throw new ApiOriginError(apiOrigins.join(', '), url.origin)
      const request = new Request(input instanceof Request ? input : url, withDuplex(init))
      request.headers.set('authorization', `Bearer ${grant.accessToken}`)
      // fetch would send a body again, and to other origins too.
      const mayFollow = request.redirect !== 'follow' || ['GET', 'HEAD'].includes(request.method)
      return await fetch(request, mayFollow ? {} : { redirect: 'manual' })
    }
  })
}

/** fetch itself would repeat the URL in its error, and with it a password. @throws TypeError */
function parseUrl (input: string): URL {
  if (!URL.canParse(input)) throw new TypeError('connection.fetch takes an absolute URL')
  const url = new URL(input)
  if (url.username + url.password !== '') throw new TypeError('connection.fetch takes no URL with a user or a password')
  return url
}

/** A stream as a body must say that the answer comes after it (Fetch standard, `duplex`). */
function withDuplex (init: RequestInit | undefined): RequestInit | undefined {
  const streams = typeof init?.body === 'object' && init.body !== null && Symbol.asyncIterator in init.body
  return streams && !('duplex' in init) ? { ...init, duplex: 'half' } as RequestInit : init
}
