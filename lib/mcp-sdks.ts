/** MCP 2025-11-25 and earlier. */
export const SDK_V1 = '@modelcontextprotocol/sdk'
/** MCP 2026-07-28, and earlier revisions. */
export const SDK_V2 = '@modelcontextprotocol/server'

/** What tells a `Server` of SDK v2 from one of v1. */
export interface NegotiatingServer {
  /** Gives nothing where earlier revisions are served without MCP sessions. */
  getNegotiatedProtocolVersion (): string | undefined
}

/** @param server of either SDK */
export function isSdkV2Server (server: object): server is NegotiatingServer {
  return typeof (server as Partial<NegotiatingServer>).getNegotiatedProtocolVersion === 'function'
}
