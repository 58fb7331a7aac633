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
    const host = hostOf(request)
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

/** HTTP/2 says it otherwise; and where the target of a request names a host, `Host` does not count (RFC 9112 section 3.2.2). */
function hostOf ({ url, headers: { host, ':authority': authority } }: FastifyRequest): string | undefined {
  return url.startsWith('/') ? host ?? authority?.toString() : new URL(url).host
}
