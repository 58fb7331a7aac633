import { NotRunError } from '../errors.js'
import type { Provider, TenantProvider } from '../types.js'
import type { Decide, Decision } from './guard.js'
import { isObject } from './guarded-call.js'
import { parseRequirements, resolveAccounts } from './requirements.js'
import type { Sdk } from './sdk.js'

type Handler = (...args: unknown[]) => Promise<unknown>

/** Makes `requireConnection` for one server. */
export function createRequireConnection (sdk: Sdk, providers: ReadonlyMap<string, Provider | TenantProvider>, decide: Decide): (...args: unknown[]) => Handler {
  return (...args) => {
    const { requirements, single, handler } = parseRequirements(providers, args)
    return async (...handlerArgs) => {
      let decision: Decision
      try {
        decision = await decide(resolveAccounts(requirements, handlerArgs), sdk.describe(handlerArgs.at(-1)))
      } catch (error) {
        if (error instanceof NotRunError && sdk.lowLevel && isToolCall(handlerArgs[0])) return toolError(error)
        throw error
      }
      if (decision.kind === 'elicit') return sdk.elicit(decision)
      return await handler(single ? decision.connections[requirements[0]!.key] : decision.connections, ...handlerArgs)
    }
  }
}

function isToolCall (request: unknown): boolean {
  return isObject(request) && request['method'] === 'tools/call'
}

/** As `McpServer` makes it of what a tool throws: the model reads results, and may never see a JSON-RPC error. */
function toolError ({ message }: Error): object {
  return { content: [{ type: 'text', text: message }], isError: true }
}
