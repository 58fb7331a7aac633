import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { isPending } from '../elicitation/elicitations.js'
import { matchesFlowCookie, type Flow } from '../elicitation/flows.js'
import {
  ConsumedError, ContextMismatchError, ExpiredError, FlowCookieMissingError, NotAuthorizedError, NotFoundError,
  ProviderRefusedError, StateInvalidError, SubjectMismatchError
} from '../errors.js'
import { readAuthorizationResponse, readState } from '../oauth/authorization-response.js'
import { exchangeCode } from '../oauth/token-request.js'
import { samePrincipal } from '../principal.js'
import type { Principal, Provider } from '../types.js'
import { sendOutcome } from './outcome.js'
import type { BrowserServices } from './services.js'

/**
 * The redirection endpoint of one provider (RFC 6749 section 3.1.2). Whatever fails before the flow is claimed leaves
 * everything as it was, so that nobody can burn somebody else's link; nothing is sent to the provider before that.
 */
export function callbackHandler (services: BrowserServices): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  const { urls, elicitations, flows } = services

  /** The flow that this response belongs to, once it is sure that it came back to its own user and browser. */
  async function ownFlow (request: FastifyRequest, reply: FastifyReply, key: string, state: string): Promise<{ flow: Flow, principal: Principal }> {
    const flow = await flows.find(state)
    if (flow === null) throw new StateInvalidError()
    if (flow.provider !== key) throw new ContextMismatchError()
    const { principal } = await services.requireVisitor(request, reply)
    const elicitation = await elicitations.find(flow.elicitation)
    if (elicitation === null) throw new StateInvalidError()
    if (!samePrincipal(elicitation.principal, principal)) throw new SubjectMismatchError()
    if (flow.status !== 'started' || elicitation.status !== 'pending') throw new ConsumedError()
    const cookie = services.flowCookies.read(request, state)
    if (cookie === undefined || !matchesFlowCookie(flow, cookie)) throw new FlowCookieMissingError()
    if (flow.expiresAt <= Date.now() || !isPending(elicitation)) throw new ExpiredError()
    return { flow, principal }
  }

  /** Spends the flow, then does what the provider said. */
  async function finish (request: FastifyRequest, provider: Provider, state: string, flow: Flow, principal: Principal): Promise<void> {
    const configuration = await services.configuration(provider)
    const response = readAuthorizationResponse(configuration, request.query)
    const authorized = await services.authorize(principal, flow.provider)
    if (!await flows.claim(state)) throw new ConsumedError()
    if (!authorized) {
      await end(flow, 'failed')
      throw new NotAuthorizedError()
    }
    if (response.kind === 'error') throw new ProviderRefusedError(response.reason)
    if (response.kind === 'denied') return await end(flow, 'declined')

    const { search } = new URL(request.url, urls.origin)
    const grant = await exchangeCode(configuration, provider, {
      response: new URL(urls.redirectUri(flow.provider) + search),
      state,
      codeVerifier: flow.codeVerifier,
      scopes: flow.scopes,
      ...flow.nonce !== undefined && { nonce: flow.nonce }
    })
    await services.connections.save(principal, flow.provider, grant)
    await end(flow, 'completed')
  }

  async function end ({ elicitation }: Flow, outcome: 'completed' | 'declined' | 'failed'): Promise<void> {
    await elicitations.end(elicitation, outcome)
    await services.completion.announce(elicitation)
  }

  async function handle (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { provider: key } = request.params as { provider: string }
    const provider = services.providers.get(key)
    if (provider === undefined) throw new NotFoundError()
    const state = readState(request.query)
    const { flow, principal } = await ownFlow(request, reply, key, state)
    try {
      await finish(request, provider, state, flow, principal)
    } catch (error) {
      const retryUrl = urls.elicitation(flow.elicitationId)
      return sendOutcome(services, error as FastifyError, request, reply, { retryUrl, comesBack: false })
    }
    services.flowCookies.clear(reply, state)
    return reply.redirect(urls.elicitation(flow.elicitationId, 'done'), 303)
  }

  return async (request, reply) => {
    try {
      return await handle(request, reply)
    } catch (error) {
      return sendOutcome(services, error as FastifyError, request, reply, { comesBack: false })
    }
  }
}
