import type { FastifyInstance, FastifyRequest } from 'fastify'

/**
 * Keeps the addresses of our routes out of the log: query strings hold codes and states, paths hold ids. What is
 * logged of a request is its route.
 */
export function logRoutesOnly (app: FastifyInstance): void {
  app.setChildLoggerFactory((logger, bindings, options) => {
    // Fastify keeps those of the scopes around this one as prototypes of each other.
    const serializers = Object.assign(Object.create(options.serializers ?? null), { req: serializeRequest })
    return logger.child(bindings, { ...options, serializers })
  })
}

function serializeRequest ({ method, routeOptions, ip }: FastifyRequest): object {
  return { method, url: routeOptions?.url ?? '(unknown route of mcp-connect)', remoteAddress: ip }
}
