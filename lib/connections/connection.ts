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
      const url = new URL(input instanceof Request ? input.url : input)
      // fetch itself would repeat user and password in its error.
      if (url.username + url.password !== '') throw new ApiOriginError(apiOrigins.join(', '), 'an address with a user or a password')
      if (!apiOrigins.includes(url.origin)) throw new ApiOriginError(apiOrigins.join(', '), url.origin)
      const request = new Request(input instanceof Request ? input : url, withDuplex(init))
      request.headers.set('authorization', `Bearer ${grant.accessToken}`)
      // fetch would send a body again, and to other origins too.
      const mayFollow = request.redirect !== 'follow' || ['GET', 'HEAD'].includes(request.method)
      return await fetch(request, mayFollow ? {} : { redirect: 'manual' })
    }
  })
}

/** A stream as a body must say that the answer comes after it (Fetch standard, `duplex`). */
function withDuplex (init: RequestInit | undefined): RequestInit | undefined {
  const streams = typeof init?.body === 'object' && init.body !== null && Symbol.asyncIterator in init.body
  return streams && !('duplex' in init) ? { ...init, duplex: 'half' } as RequestInit : init
}
