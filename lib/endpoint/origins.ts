import type { FastifyReply, FastifyRequest, onRequestAsyncHookHandler } from 'fastify'
import { refuse } from './answers.js'
import type { EndpointSettings } from './types.js'

const PORTS: Readonly<Record<string, string>> = { 'https:': '443', 'http:': '80' }

/**
 * Refuses requests for other hosts and from other web sites, against DNS rebinding (MCP 2025-11-25, Streamable HTTP, "Security Warning").
 * Programs other than browsers send no `Origin`.
 */
export function createOriginCheck ({ auth, allowedHosts, allowedOrigins }: EndpointSettings): onRequestAsyncHookHandler {
  const { protocol, host, hostname, origin: own } = new URL(auth.resource)
  const hosts = new Set([host, `${hostname}:${PORTS[protocol]}`, ...allowedHosts])
  const origins = new Set([own, ...allowedOrigins])

  return async (request: FastifyRequest, reply: FastifyReply) => {
    const { origin } = request.headers
    const host = askedHost(request)
    if (!hosts.has(String(host).toLowerCase())) {
      request.log.info({ host }, 'mcp-connect: a request for another host was refused; if the host is yours, put it into allowedHosts')
      return refuse(reply, 403, 'This Host is not served here')
    }
    if (origin !== undefined && !origins.has(origin)) {
      request.log.info({ origin }, 'mcp-connect: a request from another web site was refused; if the site is yours, put it into allowedOrigins')
      return refuse(reply, 403, 'Requests from this Origin are refused')
    }
  }
}

/** A whole address as the target counts before `Host` (RFC 9112 section 3.2.2); HTTP/2 says it otherwise. */
function askedHost ({ url, headers }: FastifyRequest): string | undefined {
  return URL.canParse(url) ? new URL(url).host : headers.host ?? String(headers[':authority'])
}
