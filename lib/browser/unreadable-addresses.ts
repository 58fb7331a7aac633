import type { FastifyInstance } from 'fastify'
import type { IncomingMessage } from 'node:http'

/** Of an address in absolute form (RFC 9112 section 3.2.2). */
const ORIGIN = /^https?:\/\/[^/?#]*/i

/**
 * Fastify answers by itself, and repeats the address, when it cannot decode it or a part of it is too long: before any route or hook is
 * asked. Of addresses of ours it is given another one, that leads to our own page. (`app.inject`, which has no server, goes past
 * this, and so does the second server that Fastify opens for another address of `localhost`.)
 * @param path of the plugin's routes in the application
 * @param maxPartLength no part of an address of ours is longer
 */
export function takeUnreadableAddresses (app: FastifyInstance, path: string, maxPartLength: number): void {
  app.server.prependListener('request', (request: IncomingMessage) => {
    const [target = ''] = (request.url ?? '').replace(ORIGIN, '').split(/[?#]/, 1)
    if (isWithin(target, path) && !isReadable(target, maxPartLength)) request.url = `${path}/no/such/page`
  })
}

function isWithin (target: string, path: string): boolean {
  return target.startsWith(path) && ['', '/', ';'].includes(target.charAt(path.length))
}

function isReadable (target: string, maxPartLength: number): boolean {
  try {
    return decodeURIComponent(target).split('/').every(part => part.length <= maxPartLength)
  } catch {
    return false
  }
}
