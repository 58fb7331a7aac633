import type { FastifyReply, FastifyRequest } from 'fastify'
import { isExpired } from '../connections/scopes.js'
import { NotAuthorizedError, NotFoundError } from '../errors.js'
import type { Provider } from '../types.js'
import { connectionsPage } from './pages/connections.js'
import { providerHost, type BrowserServices } from './services.js'

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

/** The handlers of the connections page: what every client without URL mode sends its user to. */
export function connectionsHandlers (services: BrowserServices): Record<'show' | 'connect' | 'disconnect', Handler> {
  const { urls, connections, sessions, csrf } = services

  function requireProvider (request: FastifyRequest): { key: string, provider: Provider } {
    const { provider: key } = request.params as { provider: string }
    const provider = services.providers.get(key)
    if (provider === undefined) throw new NotFoundError()
    return { key, provider }
  }

  return {
    async show (request, reply) {
      const { principal, label } = await services.requireVisitor(request, reply)
      const session = await sessions.open(request, reply, principal)
      const form = (key: string, step: 'connect' | 'disconnect'): { action: string, csrf: string } =>
        ({ action: urls.provider(key, step), csrf: csrf.token(session, `${step} ${key}`) })
      const views = await Promise.all([...services.providers].map(async ([key, provider]) => {
        const entry = await connections.find(principal, key)
        return {
          name: provider.name,
          host: providerHost(provider),
          connected: entry === null ? null : { since: entry.connectedAt, scopes: entry.grant.scopes, expired: isExpired(entry.grant) },
          connect: form(key, 'connect'),
          disconnect: form(key, 'disconnect')
        }
      }))
      return reply.send(connectionsPage({ server: services.name, account: label, connections: views }))
    },

    async connect (request, reply) {
      const { principal } = await services.requireVisitor(request, reply)
      const { key, provider } = requireProvider(request)
      csrf.check(request, await sessions.find(request, principal), `connect ${key}`)
      if (!await services.authorize(principal, key)) throw new NotAuthorizedError()
      const entry = await connections.find(principal, key)
      const scopes = [...new Set([...entry?.grant.scopes ?? [], ...provider.scopes])]
      // Never declined: a decline keeps programs from asking again, and not the user.
      const elicitation = await services.elicitations.request({ principal, client: null, provider: key, scopes })
      return reply.redirect(urls.elicitation(elicitation!.id), 303)
    },

    async disconnect (request, reply) {
      const { principal } = await services.requireVisitor(request, reply)
      const { key } = requireProvider(request)
      csrf.check(request, await sessions.find(request, principal), `disconnect ${key}`)
      await connections.remove(principal, key)
      return reply.redirect(urls.connections, 303)
    }
  }
}
