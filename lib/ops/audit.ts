import type { FastifyBaseLogger } from 'fastify'

/**
 * What became of a code that was redeemed. `started` comes before the token request, so that a process that is killed has
 * said it; one of the others follows when it lives on. Of an attempt that has `started` and no more, and of one with
 * `orphan_possible`, the provider may list a grant that is not stored here. (If the logger writes at once: a line that
 * it still holds dies with the process.)
 */
export interface AuditEvent {
  readonly event: 'exchange.started' | 'exchange.stored' | 'exchange.refused' | 'exchange.orphan_possible'
  /** The same in all events of one attempt. */
  readonly attempt: string
  readonly provider: string
  /** Principal and provider, hashed. */
  readonly connection: string
}

export type Audit = (event: AuditEvent) => void

export function createAudit (log: FastifyBaseLogger): Audit {
  return audit => log[audit.event === 'exchange.orphan_possible' ? 'warn' : 'info']({ audit }, `mcp-connect: ${audit.event}`)
}
