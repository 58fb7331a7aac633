import type { FastifyInstance } from 'fastify'
import type { IncomingMessage } from 'node:http'

/** Of an address in absolute form (RFC 9112 section 3.2.2). */
const ORIGIN = /^https?:\/\/[^/?#]*/i

/**
 * Fastify repeats an address that it cannot decode, with its query, before any route or hook of ours is asked. Of addresses of ours
 * it is given another one, that leads to our own page. (`app.inject`, which has no server, goes past this.)
 * @param path of the plugin's routes in the application
 */
export function takeUnreadableAddresses (app: FastifyInstance, path: string): void {
  app.server.prependListener('request', (request: IncomingMessage) => {
    const target = (request.url ?? '').replace(ORIGIN, '')
    if (target.startsWith(path) && !isReadable(target)) request.url = `${path}/no/such/page`
  })
}

function isReadable (url: string): boolean {
  const [path = ''] = url.split(/[?#]/, 1)
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}
