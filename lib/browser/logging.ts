import type { FastifyInstance, FastifyRequest } from 'fastify'

/**
 * Keeps the addresses of our routes out of the log: query strings hold codes and states, paths hold ids. What is
 * logged of a request is its route.
 */
export function logRoutesOnly (app: FastifyInstance): void {
  app.setChildLoggerFactory((logger, bindings, options) =>
    logger.child(bindings, { ...options, serializers: { ...options.serializers, req: serializeRequest } }))
}

function serializeRequest ({ method, routeOptions, ip }: FastifyRequest): object {
  return { method, url: routeOptions?.url ?? '(unknown route of mcp-connect)', remoteAddress: ip }
}
