import { SdkMismatchError } from '../errors.js'
import { plainText } from '../plain-text.js'
import type { McpServerLike, Provider } from '../types.js'
import type { Decide, GuardedCall } from './guard.js'
import { parseRequirements } from './requirements.js'
import type { SdkCopy } from './sdk-v1-copies.mjs'

/** What is used of SDK v1's `Server`. */
interface Server {
  getClientCapabilities (): unknown
  getClientVersion? (): { name?: unknown } | undefined
  createElicitationCompletionNotifier (elicitationId: string): () => Promise<void>
}

/** What is used of the context that SDK v1 passes last to every handler. */
interface Context {
  readonly authInfo?: { readonly clientId?: unknown, readonly extra?: Readonly<Record<string, unknown>> }
}

type Handler = (...args: unknown[]) => Promise<unknown>

/** Makes `requireConnection` for a server of SDK v1 (MCP 2025-11-25 and earlier). */
export function createSdkV1Guard ({ server, copies, providers, decide }:
{ server: McpServerLike, copies: readonly SdkCopy[], providers: ReadonlyMap<string, Provider>, decide: Decide }): { requireConnection: (...args: unknown[]) => Handler } {
  const copy = copies.find(({ Server }) => server.server instanceof Server)
  if (copy === undefined) throw new SdkMismatchError()
  const protocol = server.server as Server

  return {
    requireConnection (...args) {
      const { requirements, single, handler } = parseRequirements(providers, args)
      return async (...handlerArgs) => {
        const decision = await decide(requirements, describeCall(protocol, handlerArgs.at(-1) as Context | undefined))
        if (decision.kind === 'run') {
          return await handler(single ? decision.connections[requirements[0]!.key] : decision.connections, ...handlerArgs)
        }
        const elicitations = decision.elicitations.map(elicitation => ({ mode: 'url', ...elicitation }))
        throw new copy.UrlElicitationRequiredError(elicitations, decision.message)
      }
    }
  }
}

function describeCall (server: Server, context: Context | undefined): GuardedCall {
  const { clientId, extra } = context?.authInfo ?? {}
  const name = server.getClientVersion?.()?.name
  return {
    claims: extra,
    client: { id: typeof clientId === 'string' ? clientId : '', ...typeof name === 'string' && { name: plainText(name, 60) } },
    urlMode: urlMode(server.getClientCapabilities()),
    session: server,
    createNotify (elicitationId) {
      try {
        return server.createElicitationCompletionNotifier(elicitationId)
      } catch {
        return null                               // it throws at once without the capability
      }
    }
  }
}

/** `elicitation: {}` is form mode alone, and only an object declares a mode (MCP 2025-11-25, elicitation, capabilities). */
function urlMode (capabilities: unknown): GuardedCall['urlMode'] {
  if (!isObject(capabilities)) return 'unknown'
  const { elicitation } = capabilities
  return isObject(elicitation) && isObject(elicitation['url']) ? 'declared' : 'undeclared'
}

function isObject (value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
