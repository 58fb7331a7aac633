import type { SessionTransport } from './sdk.js'
import type { EndpointServer } from './types.js'

/** What is used of the Streamable HTTP transport of either SDK. */
interface Transport {
  readonly sessionId?: string | undefined
  onclose?: (() => void) | undefined
  close (): Promise<void>
}

/** Connects a server to the transport of its MCP session. @param onclose is called when the session ends, also when it ends of itself */
export async function connectTransport (server: EndpointServer, transport: Transport, onclose: () => void, handle: SessionTransport['handle']): Promise<SessionTransport> {
  transport.onclose = onclose                     // before it is connected: the SDK calls it beside its own
  await server.connect(transport)
  return {
    get sessionId () { return transport.sessionId },
    handle,
    close: async () => await transport.close()
  }
}
