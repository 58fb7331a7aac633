import type { FastifyBaseLogger } from 'fastify'
import type { Audit, AuditEvent, AuditEventName } from '../audit-events.js'

const ON_AUDIT_FAILED = 'mcp-connect: onAudit failed, and an event may be missing where it keeps them'

/** How loud each event is in the log. */
export const LEVELS: Readonly<Record<AuditEventName, 'debug' | 'info' | 'warn' | 'error'>> = {
  'elicitation.created': 'info',
  'elicitation.opened': 'info',
  'elicitation.started': 'info',
  'elicitation.declined': 'info',
  'elicitation.completed': 'info',
  'elicitation.failed': 'info',
  'elicitation.expired': 'info',
  'elicitation.subject_mismatch': 'warn',
  'callback.state_invalid': 'info',
  'callback.replay': 'info',
  'callback.context_mismatch': 'warn',
  'callback.flow_cookie_missing': 'warn',
  'callback.iss_mismatch': 'warn',
  'callback.session_missing': 'warn',
  'callback.response_invalid': 'info',
  'csrf.failed': 'warn',
  'request.refused': 'info',
  'request.failed': 'error',
  'exchange.started': 'info',
  'exchange.stored': 'info',
  'exchange.refused': 'info',
  'exchange.undecided': 'info',
  'account.decided': 'info',
  'exchange.orphan_possible': 'warn',
  'vault.read': 'debug',
  'vault.written': 'info',
  'vault.deleted': 'info',
  'vault.decrypt_failed': 'error',
  'vault.resealed': 'debug',
  'refresh.ok': 'info',
  'refresh.lost_race': 'info',
  'refresh.invalid_grant': 'warn',
  'refresh.failed': 'warn',
  'refresh.unsaved': 'error',
  'revocation.done': 'info',
  'revocation.postponed': 'warn',
  'revocation.spared': 'info',
  'revocation.failed': 'warn',
  'guard.blocked': 'info',
  'ratelimit.hit': 'warn',
  'session.started': 'info',
  'session.ended': 'info',
  'session.revoked': 'info',
  'session.refused': 'info'
}

/**
 * Tells each event to the log, and to the host's `onAudit`, whose failures are the operator's to hear of, and nobody else's. Both run
 * code of the host (serializers, for one): whatever they throw, what is audited goes on, and the other is told.
 */
export function createAudit (log: FastifyBaseLogger, onAudit: ((event: AuditEvent) => unknown) | undefined): Audit {
  const failed = (error: unknown): void => attempt(() => log.error({ err: error }, ON_AUDIT_FAILED), () => attempt(() => log.error(ON_AUDIT_FAILED)))

  return (name, facts, { log: own = log, ...details } = {}) => {
    const event = Object.freeze({ event: name, at: Date.now(), ...facts }) as AuditEvent
    attempt(() => own[LEVELS[name]]({ audit: event, ...details }, `mcp-connect: ${name}`),
      () => attempt(() => log.error(`mcp-connect: ${name}, which this application's logger fails to write in full`)))
    if (onAudit !== undefined) attempt(() => { Promise.resolve(onAudit(event)).catch(failed) }, failed)
  }
}

function attempt (work: () => void, otherwise: (error: unknown) => void = () => {}): void {
  try {
    work()
  } catch (error) {
    otherwise(error)
  }
}
