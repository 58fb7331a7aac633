import { SdkUnreachableError } from '../errors.js'
import { SDK_V2 } from '../mcp-sdks.js'
import type { Sdk, SdkContext } from './sdk.js'
import { findSdkV2Copy } from './sdk-v2-copy.js'
import { connectTransport } from './session-transport.js'
import { sendResponse, toWebRequest, whenGone } from './web.js'

/**
 * SDK v2 serves MCP 2026-07-28 without MCP sessions, and earlier revisions with them.
 * @throws FST_MCP_CONNECT_SDK_UNREACHABLE
 */
export async function loadSdkV2 ({ sample, createServer, settings: { auth, jsonResponse }, log }: SdkContext): Promise<Sdk> {
  const copy = await findSdkV2Copy(sample)
  if (copy === null) throw new SdkUnreachableError(SDK_V2, SDK_V2)
  const { WebStandardStreamableHTTPServerTransport: Transport, createMcpHandler, isLegacyRequest } = copy
  const { origin } = new URL(auth.resource)
  const handler = createMcpHandler(createServer, {
    legacy: 'reject',
    onerror: (error: Error) => log.debug({ err: error }, 'mcp-connect: the MCP endpoint has refused a request, or failed')
  })

  return {
    async connect (id, onclose) {
      const transport = new Transport({ sessionIdGenerator: () => id, enableJsonResponse: jsonResponse })
      return await connectTransport(createServer(), transport, onclose, async (request, reply, authInfo) =>
        await sendResponse(reply, await transport.handleRequest(toWebRequest(request, origin), { authInfo, parsedBody: request.body })))
    },
    async serve (request, reply, authInfo) {
      if (await isLegacyRequest(toWebRequest(request, origin), request.body)) return false
      await sendResponse(reply, await handler.fetch(toWebRequest(request, origin, whenGone(reply)), { authInfo, parsedBody: request.body }))
      return true
    },
    close: async () => await handler.close()
  }
}
