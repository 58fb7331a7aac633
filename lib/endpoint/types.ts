import type { allowLoopbackHttp } from '../loopback.js'

/** What is used of an `McpServer`, of either SDK. */
export interface EndpointServer {
  readonly server: object
  connect (transport: any): Promise<void>
  close (): Promise<void>
}

/** Whose access tokens the endpoint takes. */
export interface EndpointAuth {
  /** The authorization server, whose access tokens are JWTs: compared character by character with `iss`. */
  readonly issuer: string
  /** Public URL of the endpoint (RFC 8707, RFC 9728): the audience of access tokens. `http:` on loopback only. */
  readonly resource: string
  /** Scopes that every access token must have; `offline_access` is none of a resource's (SEP-2207). @default [] */
  readonly scopes?: readonly string[]
  /** Where the issuer's keys are. @default found from its metadata (RFC 8414, OpenID Connect Discovery) */
  readonly jwksUri?: string
  /** Hosts of the authorization server that may have private addresses. @default [] */
  readonly privateHosts?: readonly string[]
  /** Unsafe: lets `http:` on loopback through, for an authorization server on the same machine. */
  readonly [allowLoopbackHttp]?: boolean
}

/** Options of `mcpEndpoint`. */
export interface McpEndpointOptions {
  /** Path of the endpoint in the application. @default '/mcp' */
  readonly path?: string
  /**
   * Makes an `McpServer`: one for each MCP session, and for each request of MCP 2026-07-28; also twice at start-up, to see of which SDK it
   * is, and that each call makes a new one.
   */
  readonly createServer: () => EndpointServer
  readonly auth: EndpointAuth
  /** What `Host` may be, beside the host of `auth.resource`: with the port, if it is not the scheme's own. @default [] */
  readonly allowedHosts?: readonly string[]
  /** What `Origin` may be, beside that of `auth.resource`. @default [] */
  readonly allowedOrigins?: readonly string[]
  /** An MCP session ends after so long without a call and without an open stream. @default 1800000 (30 minutes) */
  readonly sessionIdleMs?: number
  /** How many MCP sessions there may be at once. @default 10000 */
  readonly maxSessions?: number
  /** Whether calls of MCP sessions are answered with JSON in place of a stream; what a handler sends before its result is then lost. @default false */
  readonly jsonResponse?: boolean
}

/** The options, checked and complete. */
export interface EndpointSettings extends Required<McpEndpointOptions> {
  readonly auth: Required<Omit<EndpointAuth, 'jwksUri'>> & Pick<EndpointAuth, 'jwksUri'>
}
