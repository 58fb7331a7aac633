import type { FastifyInstance } from 'fastify'

/**
 * What Node cannot parse, or finds too long, Fastify logs at level trace with the bytes of the request, in which codes, cookies and
 * access tokens stand. They stay there for a `clientErrorHandler` of the host to read, and no logger sees them by itself.
 */
export function hideRawPackets (app: FastifyInstance): void {
  app.server.prependListener('clientError', (error: Error) => {
    if ('rawPacket' in error) Object.defineProperty(error, 'rawPacket', { enumerable: false })
  })
}
