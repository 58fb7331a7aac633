import type { FastifyReply, FastifyRequest } from 'fastify'
import { connectionHash } from '../elicitation/completion.js'
import { elicitationHash, type Outcome } from '../elicitation/elicitations.js'
import { matchesFlowCookie, type Flow } from '../elicitation/flows.js'
import {
  ConsumedError, ContextMismatchError, ExpiredError, FlowCookieMissingError, HeldError, NotAuthorizedError, ProviderRefusedError, SealBrokenError, StateInvalidError
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
    if (flow.status !== 'started' || elicitation.status !== 'pending' || await flows.isRevoked(flow, visitor.principal)) throw new ConsumedError()
    const cookie = services.flowCookies.read(request, state)
    if (cookie === undefined || !matchesFlowCookie(flow, cookie)) throw new FlowCookieMissingError()
    // The link was good when the button was pressed; from then on the flow's own time counts.
    if (flow.expiresAt <= Date.now()) throw new ExpiredError()
    return { flow, principal: visitor.principal }
  }

  async function end ({ elicitationId }: Flow, holder: string, outcome: Outcome): Promise<void> {
    const hash = elicitationHash(elicitationId)
    if (!await elicitations.end(hash, outcome, holder)) throw new ConsumedError()
    services.completion.announce({ elicitation: hash })
  }

  /** Scopes that were asked for before: what was withheld once is not asked for in turns with something else. */
  async function findPrevious (principal: Principal, key: string, issuer: string): Promise<readonly string[]> {
    try {
      return (await services.connections.find(principal, key, issuer))?.grant.requestedScopes ?? []
    } catch (error) {
      if (error instanceof SealBrokenError) return []
      throw error
    }
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

    await elicitations.reopen(principal, flow.provider)
    const previous = await findPrevious(principal, flow.provider, provider.issuer)
    const { search } = new URL(request.url, urls.origin)
    const grant = await exchangeCode(configuration, provider, {
      response: new URL(urls.redirectUri(flow.provider) + search),
      state,
      codeVerifier: flow.codeVerifier,
      scopes: flow.scopes,
      ...flow.nonce !== undefined && { nonce: flow.nonce }
    })
    if (await flows.isRevoked(flow, principal)) throw new ConsumedError()
    // Were it somebody else's by now, that one's answer would count, and not this grant.
    if (!await elicitations.hold(elicitationHash(flow.elicitationId), holder)) throw new ConsumedError()
    await services.connections.save(principal, flow.provider, provider.issuer, { ...grant, requestedScopes: [...new Set([...previous, ...grant.requestedScopes])] })
    // Whoever else waits for this connection, by a link of another client, need not wait any longer.
    services.completion.announce({ connection: connectionHash(principal, flow.provider) })
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
