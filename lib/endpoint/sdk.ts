import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import { OptionsError } from '../errors.js'
import type { AuthInfo } from './bearer.js'
import type { EndpointServer, EndpointSettings } from './types.js'

/** What serves one MCP session. */
export interface SessionTransport {
  /** Absent until the session has been initialized. */
  readonly sessionId?: string | undefined
  handle (request: FastifyRequest, reply: FastifyReply, auth: AuthInfo): Promise<void>
  close (): Promise<void>
}

/** One of the two SDKs, as the endpoint uses it. */
export interface Sdk {
  /** Makes a server for an MCP session, and connects it. */
  connect (id: string, onclose: () => void): Promise<SessionTransport>
  /** Answers a request of MCP 2026-07-28, which has no session. @returns whether it is one */
  serve (request: FastifyRequest, reply: FastifyReply, auth: AuthInfo): Promise<boolean>
  close (): Promise<void>
}

/** What an SDK is loaded with. */
export interface SdkContext {
  /** A server that was thrown away, for the sake of its class. */
  readonly sample: EndpointServer
  readonly createServer: () => EndpointServer
  readonly settings: EndpointSettings
  readonly log: FastifyBaseLogger
}

const NO_SERVER = 'mcpEndpoint: createServer must return an McpServer of @modelcontextprotocol/sdk or of @modelcontextprotocol/server, at once'

/**
 * Loads what serves the servers that `createServer` makes, of which it makes one to see.
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
  await sample.close()
  const context = { sample, createServer, settings, log }
  if (!isV2(sample)) return await (await import('./sdk-v1.js')).loadSdkV1(context)
  return await (await import('./sdk-v2.js')).loadSdkV2(context)
}

function isMcpServer (value: unknown): value is EndpointServer {
  const { server, connect, close } = Object(value) as Readonly<Record<string, unknown>>
  const { getClientCapabilities } = Object(server) as Readonly<Record<string, unknown>>
  return [connect, close, getClientCapabilities].every(member => typeof member === 'function')
}

/** Servers of SDK v1 have no such method. */
function isV2 ({ server }: EndpointServer): boolean {
  return 'getNegotiatedProtocolVersion' in server
}
