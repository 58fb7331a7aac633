import type { FastifyInstance } from 'fastify'
import type { IncomingMessage } from 'node:http'

/** The target of a request: a path and a query, perhaps behind an origin (RFC 9112 section 3.2.2). */
const TARGET = /^(?:https?:\/\/[^/?#]*)?([^?#]*)(.*)$/is

/** The parameter in an address like those of our routes: there may be routes of the host beside them. */
const PARAMETER = /^\/(?:callback\/|providers\/)?([^/]*)(?:\/(?:start|decline|done|connect|disconnect))?\/*$/

/**
 * Fastify answers by itself, and repeats the address, when it cannot decode it or a parameter in it is too long: before any route or hook is
 * asked. Of addresses of ours it is given another one, that leads to our own page. (`app.inject`, which has no server, goes past
 * this, and so does the second server that Fastify opens for another address of `localhost`.)
 * @param path of the plugin's routes in the application
 * @param longest how long a parameter of theirs can be
 */
export function takeUnreadableAddresses (app: FastifyInstance, path: string, longest: number): void {
  app.server.prependListener('request', (request: IncomingMessage) => {
    const [, requested = '', query = ''] = TARGET.exec(request.url ?? '') ?? []
    if (!`${requested}/`.startsWith(`${path}/`)) return
    const [, parameter = ''] = PARAMETER.exec(requested.slice(path.length)) ?? []
    request.url = isDecodable(requested) && parameter.length <= longest ? requested + query : `${path}/no/such/page`
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
