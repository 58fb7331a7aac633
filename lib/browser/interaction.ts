import type { FastifyReply, FastifyRequest } from 'fastify'
import { elicitationHash, isPending, type Elicitation } from '../elicitation/elicitations.js'
import { hashFlowCookie, randomToken } from '../elicitation/flows.js'
import { ConsumedError, ExpiredError, NotAuthorizedError, NotFoundError, SubjectMismatchError } from '../errors.js'
import { createAuthorizationRequest } from '../oauth/authorization-request.js'
import { samePrincipal } from '../principal.js'
import type { Provider } from '../types.js'
import { completedPage, declinedPage, interactionPage, leavingPage } from './pages/interaction.js'
import { providerHost, type BrowserServices } from './services.js'
import type { Visitor } from './visitors.js'

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

/** The handlers of one elicitation's addresses. */
export function interactionHandlers (services: BrowserServices): Record<'show' | 'start' | 'decline' | 'done', Handler> {
  const { urls, elicitations, sessions, csrf } = services

  /** The elicitation in the path, once it is sure that it is the visitor's own. */
  async function own (request: FastifyRequest, visitor: Visitor): Promise<{ id: string, hash: string, elicitation: Elicitation, provider: Provider }> {
    const { id } = request.params as { id: string }
    const hash = elicitationHash(id)
    const elicitation = await elicitations.find(hash)
    if (elicitation === null || elicitation.principal.tenant !== visitor.principal.tenant) throw new NotFoundError()
    if (!samePrincipal(elicitation.principal, visitor.principal)) throw new SubjectMismatchError()
    const provider = services.providers.get(elicitation.provider)
    if (provider === undefined) throw new NotFoundError()
    return { id, hash, elicitation, provider }
  }

  async function demandUsable (elicitation: Elicitation): Promise<void> {
    if (elicitation.status !== 'pending') throw new ConsumedError()
    if (!isPending(elicitation)) throw new ExpiredError()
    if (!await services.authorize(elicitation.principal, elicitation.provider)) throw new NotAuthorizedError()
  }

  return {
    /** Reads, and moves nothing: robots that follow links do no harm. */
    async show (request, reply) {
      const visitor = await services.requireVisitor(request, reply)
      const { id, hash, elicitation, provider } = await own(request, visitor)
      await demandUsable(elicitation)
      const session = await sessions.open(request, reply, visitor.principal)
      const form = (step: 'start' | 'decline'): { action: string, csrf: string } =>
        ({ action: urls.elicitation(id, step), csrf: csrf.token(session, `${step} ${hash}`) })
      return reply.send(interactionPage({
        server: { name: services.name, host: new URL(urls.origin).host },
        client: elicitation.client?.name ?? null,
        provider: { name: provider.name, host: providerHost(provider) },
        reason: elicitation.reason,
        scopes: elicitation.scopes,
        account: visitor.label,
        expiresAt: elicitation.expiresAt,
        goOn: form('start'),
        decline: form('decline')
      }))
    },

    /** The button was pressed: only now are there a state and a flow cookie. */
    async start (request, reply) {
      const visitor = await services.requireVisitor(request, reply)
      const { id, hash, elicitation, provider } = await own(request, visitor)
      csrf.check(request, await sessions.find(request, visitor.principal), `start ${hash}`)
      await demandUsable(elicitation)
      const state = randomToken()
      const cookie = randomToken()
      const { url, codeVerifier, nonce } = await createAuthorizationRequest(await services.configuration(provider), provider, {
        redirectUri: urls.redirectUri(elicitation.provider), scopes: elicitation.scopes, state
      })
      await services.flows.start({
        elicitation: hash,
        elicitationId: id,
        provider: elicitation.provider,
        scopes: elicitation.scopes,
        codeVerifier,
        ...nonce !== undefined && { nonce },
        cookieHash: hashFlowCookie(cookie)
      }, state)
      services.flowCookies.write(request, reply, state, cookie)
      return reply.send(leavingPage({ provider: provider.name, url }))
    },

    async decline (request, reply) {
      const visitor = await services.requireVisitor(request, reply)
      const { id, hash, elicitation } = await own(request, visitor)
      csrf.check(request, await sessions.find(request, visitor.principal), `decline ${hash}`)
      if (!isPending(elicitation)) await demandUsable(elicitation)
      if (!await elicitations.end(hash, 'declined')) throw new ConsumedError()
      await services.completion.announce(hash)
      return reply.redirect(urls.elicitation(id, 'done'), 303)
    },

    async done (request, reply) {
      const visitor = await services.requireVisitor(request, reply)
      const { id, elicitation, provider } = await own(request, visitor)
      const names = { provider: provider.name, server: services.name, account: visitor.label, connections: urls.connections }
      if (elicitation.status === 'completed') return reply.send(completedPage(names))
      if (elicitation.status === 'declined') return reply.send(declinedPage(names))
      return reply.redirect(urls.elicitation(id), 303)
    }
  }
}
