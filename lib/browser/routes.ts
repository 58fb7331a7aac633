import formbody from '@fastify/formbody'
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify'
import { MethodNotAllowedError, NotFoundError } from '../errors.js'
import { accountHandlers } from './account-handlers.js'
import { connectionsHandlers } from './connections-handlers.js'
import { createErrorHandler } from './error-handler.js'
import { HTML, writeHeaders } from './headers.js'
import { interactionHandlers } from './interaction-handlers.js'
import { loginHandlers } from './login/login-handlers.js'
import { redirectionEndpoint } from './redirection-endpoint.js'
import { remember } from './request-notes.js'
import type { BrowserServices, Handler } from './services.js'
import { CALLBACK_ROUTES } from './urls.js'
import { findVisitor } from './visitors.js'

const METHODS: readonly HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
const BODY_LIMIT = 16 * 1024

/** Registers the pages in an encapsulated child, so that nothing of it touches the host application. */
export async function registerRoutes (app: FastifyInstance, services: BrowserServices): Promise<void> {
  app.removeAllContentTypeParsers()
  await app.register(formbody, { bodyLimit: BODY_LIMIT })
  app.addHook('onRequest', async (_request, reply) => { reply.type(HTML) })
  const headers = async (_request: FastifyRequest, reply: FastifyReply): Promise<void> => writeHeaders(reply, services.urls.secure)
  app.addHook('onSend', headers)                  // also where there is no route
  app.addHook('onRoute', route => { route.onSend = [route.onSend ?? [], headers].flat() })     // has the last word, also after hooks that the host adds later
  // After the hooks of the host application, which may be what tells who is signed in.
  app.addHook('preHandler', async (request, reply) => {
    const visitor = await findVisitor(services.browser, request, reply)
    remember(request, { visitor })
    await services.limits.check(request, visitor)
  })
  const handleError = createErrorHandler(services)
  app.setErrorHandler(handleError)
  app.setNotFoundHandler((request, reply) => handleError(new NotFoundError(), request, reply))

  const route = (method: 'GET' | 'POST', url: string, handler: Handler): void => {
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
  route('POST', '/providers/:provider/add', connections.add)
  route('POST', '/providers/:provider/disconnect', connections.disconnect)
  route('POST', '/providers/:provider/accounts/:account/connect', connections.connect)
  route('POST', '/providers/:provider/accounts/:account/default', connections.makeDefault)
  route('POST', '/providers/:provider/accounts/:account/disconnect', connections.disconnect)

  if (services.login !== null) {
    const login = loginHandlers(services, services.login)
    route('GET', '/login', login.start)
    route('GET', '/login/callback', login.callback)
    route('POST', '/login/sign-out', login.signOut)
    route('GET', '/login/signed-out', login.signedOut)
  }

  const redirection = redirectionEndpoint(services)
  for (const url of CALLBACK_ROUTES) route('GET', url, redirection)

  const interaction = interactionHandlers(services)
  route('GET', '/:id', interaction.show)
  route('POST', '/:id/start', interaction.start)
  route('POST', '/:id/decline', interaction.decline)
  route('GET', '/:id/done', interaction.done)

  const account = accountHandlers(services)
  route('GET', '/:id/account', account.show)
  route('POST', '/:id/account/:choice', account.decide)

  // What is not found here is not for a wildcard of the host's, such as its CORS has for preflights.
  app.route({ method: [...METHODS], url: '/*', exposeHeadRoute: false, handler: async () => { throw new NotFoundError() } })
}
