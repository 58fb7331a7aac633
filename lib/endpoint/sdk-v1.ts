import { SdkUnreachableError } from '../errors.js'
import { SDK_V1 } from '../mcp-sdks.js'
import type { Sdk, SdkContext } from './sdk.js'
import { connectTransport } from './session-transport.js'
import { takeOver } from './web.js'

/**
 * SDK v1 serves MCP 2025-11-25 and earlier. Its transport knows servers by what they do, so that one copy of it serves those of another.
 * @throws FST_MCP_CONNECT_SDK_UNREACHABLE
 */
export async function loadSdkV1 ({ createServer, settings: { jsonResponse } }: SdkContext): Promise<Sdk> {
  const { StreamableHTTPServerTransport: Transport } = await import('@modelcontextprotocol/sdk/server/streamableHttp.js')
    .catch(() => { throw new SdkUnreachableError(SDK_V1, SDK_V1) })

  return {
    async connect (id, onclose) {
      const transport = new Transport({ sessionIdGenerator: () => id, enableJsonResponse: jsonResponse })
      return await connectTransport(createServer(), transport, onclose, async (request, reply) =>
        await transport.handleRequest(request.raw, takeOver(reply), request.body))
    },
    serve: async () => false,
    close: async () => {}
  }
}
