import type { FastifyInstance } from 'fastify'
import type { IncomingMessage } from 'node:http'

/** The target of a request: a path and a query, perhaps behind an origin (RFC 9112 section 3.2.2). */
const TARGET = /^(?:https?:\/\/[^/?#]*)?([^?#]*)(.*)$/is

/**
 * Fastify answers by itself, and repeats the address, when it cannot decode it or a part of it is too long: before any route or hook is
 * asked. Of addresses of ours it is given another one, that leads to our own page. (`app.inject`, which has no server, goes past
 * this, and so does the second server that Fastify opens for another address of `localhost`.)
 * @param path of the plugin's routes in the application
 * @param longest how long a part of theirs can be
 */
export function takeUnreadableAddresses (app: FastifyInstance, path: string, longest: number): void {
  app.server.prependListener('request', (request: IncomingMessage) => {
    const [, requested = '', query = ''] = TARGET.exec(request.url ?? '') ?? []
    if (`${requested}/`.startsWith(`${path}/`)) request.url = isReadable(requested, longest) ? requested + query : `${path}/no/such/page`
  })
}

function isReadable (path: string, longest: number): boolean {
  try {
    decodeURIComponent(path)
    return path.split('/').every(segment => segment.length <= longest)
  } catch {
    return false
  }
}
