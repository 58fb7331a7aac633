import type { McpConnectOptions, Registration } from '../../types.js'
import type { Attempts } from './attempts.js'
import type { SessionCookie } from './session-cookie.js'

/** What our own login works with. */
export interface LoginServices {
  /** This server's registration as a web client. */
  readonly registration: Registration
  readonly principal: Required<McpConnectOptions>['principal']
  readonly attempts: Attempts
  readonly session: SessionCookie
}
