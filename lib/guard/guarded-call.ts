import type { Notify } from '../elicitation/completion.js'
import { plainText } from '../plain-text.js'
import type { Claims, ClientManifest } from '../types.js'

/** One call of a guarded handler, told without any SDK's words. */
export interface GuardedCall {
  /** The verified claims of the access token; `undefined` when the request carried none. */
  readonly claims: Claims | undefined
  /** The `client_id` of the access token; empty without one. */
  readonly clientId: string
  /** What the client says of itself. */
  readonly manifest: ClientManifest
  /** Whether the client declared URL mode; `impossible` where no client can be asked for anything, as in a list. */
  readonly urlMode: 'declared' | 'undeclared' | 'unknown' | 'impossible'
  /** Whether the guard's server has a client at all; otherwise it is not the server that is called. */
  readonly connected: boolean
  /** `null` from protocol 2026-07-28 on, which has none: nobody can be told there. */
  readonly mcpSession: McpSession | null
  /** For a client that answers, and calls again with its answers; `null` before protocol 2026-07-28. */
  readonly round: Round | null
}

/** Whom to tell that an elicitation has ended (MCP 2025-11-25, elicitation). */
export interface McpSession {
  /** Stands for the session where it is remembered without being kept alive. */
  readonly identity: object
  /** How to tell the session, without keeping it alive; `null` when it cannot be told. */
  createNotify (elicitationId: string): Notify | null
}

/** What stands beside a call of a multi-round-trip request (MCP 2026-07-28, multi round-trip requests). */
export interface Round {
  /** What was answered to links of an earlier round, by provider. */
  readonly answers: ReadonlyMap<string, Answer>
  /** The client has cancelled the call, or is gone. */
  readonly signal: AbortSignal
  /** Tells the client that the call is alive, after so many seconds; `null` where it did not ask. */
  readonly progress: ((seconds: number) => Promise<void>) | null
}

/** `accept` is consent to open a link, and says nothing of what came of it; `cancel` may mean that nobody saw it. */
export type Answer = 'accept' | 'decline' | 'cancel'

/** What both SDKs pass to handlers of the access token that was verified. */
export interface AuthInfo {
  readonly clientId?: unknown
  readonly extra?: unknown
}

/** Who calls: what is of another form than the SDKs say is as good as nothing. */
export function readUser (authInfo: AuthInfo | null | undefined): Pick<GuardedCall, 'claims' | 'clientId'> {
  const { clientId, extra } = authInfo ?? {}
  return { claims: isObject(extra) ? extra : undefined, clientId: typeof clientId === 'string' ? clientId : '' }
}

/** What a client says of itself, as far as it can be read, and cut to what may be logged. All three are as it wrote them. */
export function readManifest (protocolVersion: unknown, capabilities: unknown, clientInfo: unknown): ClientManifest {
  const { name, version } = isObject(clientInfo) ? clientInfo : {}
  return {
    ...typeof protocolVersion === 'string' && { protocolVersion: plainText(protocolVersion, 20) },
    ...isObject(capabilities) && { capabilities },
    client: {
      ...typeof name === 'string' && { name: plainText(name, 60) },
      ...typeof version === 'string' && { version: plainText(version, 20) }
    }
  }
}

export function isObject (value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** `elicitation: {}` is form mode alone, and only an object declares a mode (MCP, elicitation, capabilities). */
export function urlModeOf ({ capabilities }: ClientManifest): 'declared' | 'undeclared' | 'unknown' {
  if (capabilities === undefined) return 'unknown'
  const { elicitation } = capabilities
  return isObject(elicitation) && isObject(elicitation['url']) ? 'declared' : 'undeclared'
}
