import type { Decision } from './guard.js'
import type { GuardedCall } from './guarded-call.js'
import type { NotifyingServer } from './mcp-session.js'

/** What is used of the `Server` of either SDK. */
export interface SdkServer extends NotifyingServer {
  getClientCapabilities (): unknown
  getClientVersion (): unknown
}

/** What the guard needs of an SDK, for one server. */
export interface Sdk {
  /** @param context what the SDK passes last to every handler */
  describe (context: unknown): GuardedCall
  /** Gives, or throws, what makes the SDK hand out links. */
  elicit (decision: Extract<Decision, { kind: 'elicit' }>): unknown
  /** Whether handlers are those of the protocol's own server: what they throw is nobody's `isError` text. */
  readonly lowLevel: boolean
}
