import type { FastifyRequest } from 'fastify'
import { hashFields } from '../encoding.js'
import { addressKey } from '../ip-address.js'
import { hashPrincipal } from '../principal.js'
import type { Limiter } from '../state/limiter.js'
import type { Visitor } from './visitors.js'

/** How many requests one visitor may make. */
export interface VisitLimits {
  /**
   * Who is signed in is counted as such, and nobody else for it; so those who share an address do not get in each other's way.
   * @throws FST_MCP_CONNECT_RATE_LIMITED
   */
  check (request: FastifyRequest, visitor: Visitor | null): Promise<void>
}

export function createVisitLimits (byAddress: Limiter, byPrincipal: Limiter): VisitLimits {
  return {
    async check ({ ip }, visitor) {
      if (visitor === null) await byAddress.count(hashFields('address', addressKey(ip)))
      else await byPrincipal.count(hashPrincipal(visitor.principal))
    }
  }
}
