import type { FastifyBaseLogger } from 'fastify'
import { OptionsError } from '../errors.js'
import { isSdkV2Server } from '../mcp-sdks.js'
import type { Sdk } from './sdk.js'
import type { EndpointServer, EndpointSettings } from './types.js'

const NO_SERVER = 'mcpEndpoint: createServer must return an McpServer of @modelcontextprotocol/sdk or of @modelcontextprotocol/server, at once'

/**
 * Loads what serves the servers that `createServer` makes, of which it makes two to see.
 * @throws FST_MCP_CONNECT_OPTIONS when it makes none; FST_MCP_CONNECT_SDK_UNREACHABLE
 */
export async function loadSdk (settings: EndpointSettings, log: FastifyBaseLogger): Promise<Sdk> {
  const made = new WeakSet<EndpointServer>()
  const createServer = (): EndpointServer => {
    const server: unknown = settings.createServer()
    if (!isMcpServer(server)) throw new OptionsError(NO_SERVER)
    // One that is shared would answer one user's calls to another.
    if (made.has(server)) throw new OptionsError('mcpEndpoint: createServer must make a new McpServer each time')
    made.add(server)
    return server
  }
  const sample = createServer()
  await Promise.all([sample.close(), createServer().close()])
  const context = { sample, createServer: (): EndpointServer => reported(createServer, log), settings, log }
  if (!isSdkV2Server(sample.server)) return await (await import('./sdk-v1.js')).loadSdkV1(context)
  return await (await import('./sdk-v2.js')).loadSdkV2(context)
}

/** What the host's function throws is for the log alone, also where it has the status of an answer. */
function reported (createServer: () => EndpointServer, log: FastifyBaseLogger): EndpointServer {
  try {
    return createServer()
  } catch (error) {
    log.error({ err: error }, 'mcp-connect: createServer has failed')
    throw new Error('createServer has failed')
  }
}

function isMcpServer (value: unknown): value is EndpointServer {
  const { server, connect, close } = Object(value) as Readonly<Record<string, unknown>>
  const { getClientCapabilities } = Object(server) as Readonly<Record<string, unknown>>
  return [connect, close, getClientCapabilities].every(member => typeof member === 'function')
}
