import { SDK_V2 } from '../mcp-sdks.js'
import { importCopy, requireLoadedCopy } from '../package-copies.mjs'

/** What the endpoint needs of one loaded copy of SDK v2. */
export interface SdkV2Copy {
  readonly McpServer: { readonly prototype: object }
  readonly WebStandardStreamableHTTPServerTransport: new (options: object) => {
    readonly sessionId?: string
    onclose?: () => void
    handleRequest (request: Request, options: object): Promise<Response>
    close (): Promise<void>
  }
  readonly isLegacyRequest: (request: Request, parsedBody?: unknown) => Promise<boolean>
  readonly createMcpHandler: (factory: () => any, options: object) => { fetch (request: Request, options: object): Promise<Response>, close (): Promise<void> }
}

/**
 * Finds the copy of SDK v2 that a server was made from, since only that one can serve it by MCP 2026-07-28.
 * @returns `null` when this package cannot load it
 */
export async function findSdkV2Copy (server: object): Promise<SdkV2Copy | null> {
  const required: SdkV2Copy | null = requireLoadedCopy(SDK_V2)
  if (required !== null && isOf(required, server)) return required
  const imported: SdkV2Copy | null = await importCopy(SDK_V2)
  return imported !== null && isOf(imported, server) ? imported : null
}

function isOf ({ McpServer }: SdkV2Copy, server: object): boolean {
  return Object.prototype.isPrototypeOf.call(McpServer.prototype, server)
}
