import type { FastifyReply, FastifyRequest } from 'fastify'
import { elicitationHash, type Outcome } from '../elicitation/elicitations.js'
import { matchesFlowCookie, type Flow } from '../elicitation/flows.js'
import {
  ConsumedError, ContextMismatchError, ExpiredError, FlowCookieMissingError, HeldError, NotAuthorizedError, ProviderRefusedError, StateInvalidError
} from '../errors.js'
import { readAuthorizationResponse, readState, type AuthorizationResponse } from '../oauth/authorization-response.js'
import type { Configuration } from '../oauth/configuration.js'
import { describeProvider } from '../oauth/failure.js'
import { exchangeCode } from '../oauth/token-request.js'
import { randomToken } from '../random.js'
import type { Principal, Provider } from '../types.js'
import { assertOwn } from './ownership.js'
import { remember } from './request-notes.js'
import { requireProvider, requireVisitor, type BrowserServices, type Handler } from './services.js'

/**
 * The redirection endpoint of one provider (RFC 6749 section 3.1.2). Whatever fails before the flow is claimed leaves
 * everything as it was, so that nobody can burn somebody else's link, and no code is sent to the provider before that.
 */
export function redirectionEndpoint (services: BrowserServices): Handler {
  const { urls, elicitations, flows } = services

  /** The flow that this response belongs to, once it is sure that it came back to its own user and browser. */
  async function findOwnFlow (request: FastifyRequest, reply: FastifyReply, key: string, state: string): Promise<{ flow: Flow, principal: Principal }> {
    const flow = await flows.find(state)
    if (flow === null) throw new StateInvalidError()
    const { issuer, clientId } = requireProvider(services, key)
    const sameContext = flow.provider === key && flow.issuer === issuer && flow.clientId === clientId && flow.redirectUri === urls.redirectUri(key)
    if (!sameContext) throw new ContextMismatchError()
    const visitor = await requireVisitor(services, request, reply)
    const elicitation = await elicitations.find(elicitationHash(flow.elicitationId))
    assertOwn(elicitation, visitor)
    remember(request, { retryUrl: urls.elicitation(flow.elicitationId) })
    // Before the cookie, which a finished flow has no more: the owner's second click is no attack.
    if (flow.status !== 'started' || elicitation.status !== 'pending') throw new ConsumedError()
    const cookie = services.flowCookies.read(request, state)
    if (cookie === undefined || !matchesFlowCookie(flow, cookie)) throw new FlowCookieMissingError()
    // The link was good when the button was pressed; from then on the flow's own time counts.
    if (flow.expiresAt <= Date.now()) throw new ExpiredError()
    return { flow, principal: visitor.principal }
  }

  async function end ({ elicitationId }: Flow, holder: string, outcome: Outcome): Promise<void> {
    const hash = elicitationHash(elicitationId)
    if (!await elicitations.end(hash, outcome, holder)) throw new ConsumedError()
    await services.completion.announce(hash)
  }

  /** Does what the provider said. The flow is spent, and nobody else is at this elicitation. */
  async function finish (request: FastifyRequest, provider: Provider, configuration: Configuration, response: AuthorizationResponse,
    { flow, principal, state, holder }: { flow: Flow, principal: Principal, state: string, holder: string }): Promise<void> {
    if (!await services.authorize(principal, flow.provider)) {
      await end(flow, holder, 'failed')
      throw new NotAuthorizedError()
    }
    if (response.kind === 'error') throw new ProviderRefusedError(describeProvider(provider), response.reason)
    if (response.kind === 'denied') return await end(flow, holder, 'declined')

    const { search } = new URL(request.url, urls.origin)
    const grant = await exchangeCode(configuration, provider, {
      response: new URL(urls.redirectUri(flow.provider) + search),
      state,
      codeVerifier: flow.codeVerifier,
      scopes: flow.scopes,
      ...flow.nonce !== undefined && { nonce: flow.nonce }
    })
    // Were it somebody else's by now, that one's answer would count, and not this grant.
    if (!await elicitations.hold(elicitationHash(flow.elicitationId), holder)) throw new ConsumedError()
    await services.connections.save(principal, flow.provider, provider.issuer, grant)
    await elicitations.reopen(principal, flow.provider)
    await end(flow, holder, 'completed')
  }

  return async (request, reply) => {
    const { provider: key } = request.params as { provider: string }
    const provider = requireProvider(services, key)
    const state = readState(request.query)
    const { flow, principal } = await findOwnFlow(request, reply, key, state)
    const configuration = await services.configuration(provider)
    const response = readAuthorizationResponse(configuration, provider, request.query)

    const hash = elicitationHash(flow.elicitationId)
    const holder = randomToken()
    try {
      if (!await elicitations.hold(hash, holder)) throw new HeldError()
      if (!await flows.claim(state)) throw new ConsumedError()
      await finish(request, provider, configuration, response, { flow, principal, state, holder })
    } catch (error) {
      await elicitations.release(hash, holder).catch(() => {})     // if it cannot be released now, the hold runs out
      throw error
    }
    services.flowCookies.clear(reply, state)
    return reply.redirect(urls.elicitation(flow.elicitationId, 'done'), 303)
  }
}
