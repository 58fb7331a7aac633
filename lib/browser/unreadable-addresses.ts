import type { FastifyInstance } from 'fastify'
import type { IncomingMessage } from 'node:http'

/** The target of a request: a path and a query, perhaps behind an origin (RFC 9112 section 3.2.2). */
const TARGET = /^(?:https?:\/\/[^/?#]*)?([^?#]*)(.*)$/is

/**
 * Fastify answers by itself, and repeats the address, when it cannot decode it: before any route or hook is asked. Of addresses
 * of ours it is given another one, that leads to our own page. (`app.inject`, which has no server, goes past this, and so does the
 * second server that Fastify opens for another address of `localhost`.)
 * @param path of the plugin's routes in the application
 */
export function takeUnreadableAddresses (app: FastifyInstance, path: string): void {
  app.server.prependListener('request', (request: IncomingMessage) => {
    const [, requested = '', query = ''] = TARGET.exec(request.url ?? '') ?? []
    if (!`${requested}/`.startsWith(`${path}/`)) return
    request.url = isDecodable(requested) ? requested + query : `${path}/no/such/page`
  })
}

function isDecodable (path: string): boolean {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}
