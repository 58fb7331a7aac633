import { NotMcpServerError, SdkMismatchError, SdkMissingError, SdkUnreachableError } from '../errors.js'
import type { AnyServerLike } from '../decorator.js'
import { isSdkV2Server, SDK_V2 } from '../mcp-sdks.js'
import type { Provider, TenantProvider } from '../types.js'
import type { Decide } from './guard.js'
import { createRequireConnection } from './require-connection.js'
import type { Sdk, SdkServer } from './sdk.js'
import { createSdkV1 } from './sdk-v1.js'
import type { SdkV1Copy } from './sdk-v1-copies.js'
import type { SdkV2Copy } from './sdk-v2-copy.js'
import { createSdkV2 } from './sdk-v2.js'

interface Services {
  readonly server: AnyServerLike
  /** Copies of SDK v1. */
  readonly copies: readonly SdkV1Copy[]
  /** @returns `null` when SDK v2 cannot be loaded */
  readonly loadSdkV2: () => SdkV2Copy | null
  readonly providers: ReadonlyMap<string, Provider | TenantProvider>
  readonly decide: Decide
}

/**
 * Makes the guard for one server, of whichever SDK.
 * @throws FST_MCP_CONNECT_NOT_MCP_SERVER, FST_MCP_CONNECT_SDK_MISSING, FST_MCP_CONNECT_SDK_MISMATCH, FST_MCP_CONNECT_SDK_UNREACHABLE
 */
export function createGuard ({ providers, decide, ...services }: Services): { requireConnection: ReturnType<typeof createRequireConnection> } {
  return { requireConnection: createRequireConnection(findSdk(services), providers, decide) }
}

function findSdk ({ server: given, copies, loadSdkV2 }: Pick<Services, 'server' | 'copies' | 'loadSdkV2'>): Sdk {
  const lowLevel = !('server' in Object(given))
  const server: unknown = lowLevel ? given : (given as { server: unknown }).server
  if (!isServer(server)) throw new NotMcpServerError()
  if (isSdkV2Server(server)) {
    const copy = loadSdkV2()
    if (copy === null) throw new SdkUnreachableError(SDK_V2, SDK_V2)
    return createSdkV2(server, copy, lowLevel)
  }
  const copy = copies.find(({ Server }) => server instanceof Server)
  if (copy === undefined) throw copies.length === 0 ? new SdkMissingError() : new SdkMismatchError()
  return createSdkV1(server, copy, lowLevel)
}

function isServer (value: unknown): value is SdkServer {
  return typeof value === 'object' && value !== null && typeof (value as Partial<SdkServer>).getClientCapabilities === 'function'
}
