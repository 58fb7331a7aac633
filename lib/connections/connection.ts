import { ApiOriginError } from '../errors.js'
import type { Connection, Grant, Provider } from '../types.js'

/** Makes the handle that a guarded handler receives. */
export function createConnection (key: string, { apiOrigins }: Provider, grant: Grant): Connection {
  // The grant lives in this closure alone: no property of the handle leads to it.
  return Object.freeze({
    provider: key,
    scopes: grant.scopes,
    expiresAt: grant.expiresAt,
    async accessToken () {
      return grant.accessToken
    },
    async fetch (input: string | URL | Request, init?: RequestInit) {
      const request = new Request(input, init)
      const { origin } = new URL(request.url)
      if (!apiOrigins.includes(origin)) throw new ApiOriginError(apiOrigins.join(', '), origin)
      request.headers.set('authorization', `Bearer ${grant.accessToken}`)
      return await fetch(request)
    }
  })
}
