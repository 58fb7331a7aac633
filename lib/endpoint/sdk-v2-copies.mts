import { createRequire } from 'node:module'

/** What is used of one loaded copy of `@modelcontextprotocol/server`. */
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

const SERVER = '@modelcontextprotocol/server'

/**
 * Gives the copy of the SDK that a server was made from, since only that one can serve it by MCP 2026-07-28. The package comes twice, as
 * ESM and as CommonJS. This module is ESM in both builds, so that both can be reached.
 */
export async function findSdkV2Copy (server: object): Promise<SdkV2Copy | null> {
  // @ts-ignore The CommonJS pass, which emits this file as ESM too, takes exception to import.meta.
  const required = requiredCopy(createRequire(import.meta.url))
  if (required !== null && isOf(required, server)) return required
  const imported: SdkV2Copy | null = await import(SERVER).catch(() => null)      // not installed
  return imported !== null && isOf(imported, server) ? imported : null
}

/** The CommonJS copy if the host has loaded it; it is not loaded for the sake of asking. */
function requiredCopy (require: NodeJS.Require): SdkV2Copy | null {
  try {
    return require.cache[require.resolve(SERVER)] === undefined ? null : require(SERVER)
  } catch {
    return null
  }
}

function isOf ({ McpServer }: SdkV2Copy, server: object): boolean {
  return Object.prototype.isPrototypeOf.call(McpServer.prototype, server)
}
