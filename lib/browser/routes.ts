import formbody from '@fastify/formbody'
import type { FastifyError, FastifyInstance, HTTPMethods, RouteHandlerMethod } from 'fastify'
import { MethodNotAllowedError, NotFoundError } from '../errors.js'
import { callbackHandler } from './callback.js'
import { connectionsHandlers } from './connections-page.js'
import { HTML, securityHeaders } from './headers.js'
import { interactionHandlers } from './interaction.js'
import { sendOutcome } from './outcome.js'
import type { BrowserServices } from './services.js'

const METHODS: readonly HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
const BODY_LIMIT = 16 * 1024

/** Registers the pages in an encapsulated child, so that nothing of it touches the host application. */
export async function registerRoutes (app: FastifyInstance, services: BrowserServices): Promise<void> {
  const headers = securityHeaders(services.urls.secure)
  app.removeAllContentTypeParsers()
  await app.register(formbody, { bodyLimit: BODY_LIMIT })
  app.addHook('onRequest', async (_request, reply) => {
    reply.headers(headers).type(HTML)
  })
  app.setErrorHandler<FastifyError>((error, request, reply) => sendOutcome(services, error, request, reply, { comesBack: request.method === 'GET' }))
  app.setNotFoundHandler((request, reply) => sendOutcome(services, new NotFoundError(), request, reply, { comesBack: false }))

  const route = (method: 'GET' | 'POST', url: string, handler: RouteHandlerMethod): void => {
    app.route({ method, url, handler, exposeHeadRoute: false })
    app.route({
      method: METHODS.filter(other => other !== method),
      url,
      exposeHeadRoute: false,
      handler: async (_request, reply) => {
        reply.header('allow', method)
        throw new MethodNotAllowedError()
      }
    })
  }

  const connections = connectionsHandlers(services)
  route('GET', '/', connections.show)
  route('POST', '/providers/:provider/connect', connections.connect)
  route('POST', '/providers/:provider/disconnect', connections.disconnect)

  route('GET', '/callback/:provider', callbackHandler(services))

  const interaction = interactionHandlers(services)
  route('GET', '/:id', interaction.show)
  route('POST', '/:id/start', interaction.start)
  route('POST', '/:id/decline', interaction.decline)
  route('GET', '/:id/done', interaction.done)
}
