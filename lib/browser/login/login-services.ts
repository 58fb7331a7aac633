import type { McpConnectOptions, Registration } from '../../types.js'
import type { PendingSignIns } from './pending-sign-ins.js'
import type { SessionCookie } from './session-cookie.js'

/** What our own login works with. */
export interface LoginServices {
  /** This server's registration as a web client. */
  readonly registration: Registration
  readonly principal: Required<McpConnectOptions>['principal']
  readonly pending: PendingSignIns
  readonly session: SessionCookie
}
