import type { Notify } from '../elicitation/completion.js'
import type { McpSession } from './guarded-call.js'

/** What is used of a server, of either SDK, to tell its client. */
export interface NotifyingServer {
  readonly transport?: object
  createElicitationCompletionNotifier (elicitationId: string): () => Promise<void>
}

/** Whether a server has a client, or had one until now: its last call may begin when it is gone already. */
export function isConnected (server: NotifyingServer & { getClientVersion (): unknown }): boolean {
  return server.transport !== undefined || server.getClientVersion() !== undefined
}

/** The MCP session that a server is connected to now: it may be connected to another client later. */
export function mcpSessionOf (server: NotifyingServer): McpSession {
  const transport = server.transport ?? server
  return { identity: transport, createNotify: elicitationId => createNotify(server, transport, elicitationId) }
}

/** Tells the client of a server, as long as the server is connected to it by this transport. Keeps neither alive. */
function createNotify (server: NotifyingServer, transport: object, elicitationId: string): Notify | null {
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
