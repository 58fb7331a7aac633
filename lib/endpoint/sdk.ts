import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
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
