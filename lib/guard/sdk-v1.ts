import type { Notify } from '../elicitation/completion.js'
import { NotMcpServerError, SdkMismatchError, SdkMissingError } from '../errors.js'
import { plainText } from '../plain-text.js'
import type { McpServerLike } from '../decorator.js'
import type { Provider } from '../types.js'
import type { Decide, GuardedCall } from './guard.js'
import { parseRequirements } from './requirements.js'
import type { SdkCopy, SdkServer } from './sdk-v1-copies.mjs'

/** What is used of the context that SDK v1 passes last to every handler. */
interface Context {
  readonly authInfo?: { readonly clientId?: unknown, readonly extra?: Readonly<Record<string, unknown>> }
}

type Handler = (...args: unknown[]) => Promise<unknown>

interface Services {
  readonly server: McpServerLike
  readonly copies: readonly SdkCopy[]
  readonly providers: ReadonlyMap<string, Provider>
  readonly decide: Decide
}

/**
 * Makes `requireConnection` for a server of SDK v1 (MCP 2025-11-25 and earlier).
 * @throws FST_MCP_CONNECT_NOT_MCP_SERVER, FST_MCP_CONNECT_SDK_MISSING, FST_MCP_CONNECT_SDK_MISMATCH
 */
export function createSdkV1Guard ({ server: mcpServer, copies, providers, decide }: Services): { requireConnection: (...args: unknown[]) => Handler } {
  const server = mcpServer?.server
  if (typeof server?.getClientCapabilities !== 'function') throw new NotMcpServerError()
  const copy = copies.find(({ Server }) => server instanceof Server)
  if (copy === undefined) throw copies.length === 0 ? new SdkMissingError() : new SdkMismatchError()

  return {
    requireConnection (...args) {
      const { requirements, single, handler } = parseRequirements(providers, args)
      return async (...handlerArgs) => {
        const decision = await decide(requirements, describeCall(server as SdkServer, handlerArgs.at(-1) as Context | undefined))
        if (decision.kind === 'run') {
          return await handler(single ? decision.connections[requirements[0]!.key] : decision.connections, ...handlerArgs)
        }
        const elicitations = decision.elicitations.map(elicitation => ({ mode: 'url', ...elicitation }))
        // The SDK puts "MCP error -32042: " in front of the message, and its client does so again.
        throw Object.assign(new copy.UrlElicitationRequiredError(elicitations), { message: decision.message })
      }
    }
  }
}

function describeCall (server: SdkServer, context: Context | undefined): GuardedCall {
  const { clientId, extra } = context?.authInfo ?? {}
  const name = server.getClientVersion()?.name
  // A server may be connected to another client later; this session is the one of this transport.
  const transport = server.transport ?? server
  return {
    claims: isObject(extra) ? extra : undefined,
    client: { id: typeof clientId === 'string' ? clientId : '', ...typeof name === 'string' && { name: plainText(name, 60) } },
    urlMode: urlMode(server.getClientCapabilities()),
    mcpSession: transport,
    createNotify: elicitationId => createNotify(server, transport, elicitationId)
  }
}

function createNotify (server: SdkServer, transport: object, elicitationId: string): Notify | null {
  try {
    server.createElicitationCompletionNotifier(elicitationId)
  } catch {
    return null                                   // it throws at once without the capability
  }
  const serverRef = new WeakRef(server)
  const transportRef = new WeakRef(transport)
  return async () => {
    const live = serverRef.deref()
    if (live === undefined || (live.transport ?? live) !== transportRef.deref()) return
    await live.createElicitationCompletionNotifier(elicitationId)()
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
