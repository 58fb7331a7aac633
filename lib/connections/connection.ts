import { ApiOriginError } from '../errors.js'
import type { Connection, Grant, Provider } from '../types.js'

/** Makes the handle that a guarded handler receives. */
export function createConnection (key: string, { apiOrigins }: Provider, grant: Grant): Connection {
  // The grant lives in this closure alone: no property of the handle leads to it.
  return Object.freeze({
    provider: key,
    scopes: grant.scopes,
    expiresAt: grant.expiresAt,
    account: grant.account,
    async accessToken () {
      return grant.accessToken
    },
    async fetch (input: string | URL | Request, init?: RequestInit) {
      // A stream as a body must say that the answer comes after it (Fetch standard, `duplex`); nobody else minds.
      const request = new Request(input, { duplex: 'half', ...init } as RequestInit)
      const { origin } = new URL(request.url)
      if (!apiOrigins.includes(origin)) throw new ApiOriginError(apiOrigins.join(', '), origin)
      request.headers.set('authorization', `Bearer ${grant.accessToken}`)
      // fetch would send a body again, and to other origins too.
      const mayFollow = request.redirect !== 'follow' || ['GET', 'HEAD'].includes(request.method)
      return await fetch(request, mayFollow ? {} : { redirect: 'manual' })
    }
  })
}
