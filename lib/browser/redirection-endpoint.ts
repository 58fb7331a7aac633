import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import type { AuditedAttempt } from '../audit-events.js'
import { placeGrant } from '../connections/placement.js'
import { auditedElicitation, elicitationHash } from '../elicitation/elicitations.js'
import { DECISION_MS, DECISION_TTL_MS } from '../elicitation/undecided-grants.js'
import { endUnconnected } from '../elicitation/end-unconnected.js'
import { matchesFlowCookie, type Flow } from '../elicitation/flows.js'
import {
  ConsumedError, ContextMismatchError, ExpiredError, FlowCookieMissingError, NotAuthorizedError, NotFoundError,
  ProviderRefusedError, ScopeRefusedError, SessionLostError, SignInRequiredError, StateInvalidError
} from '../errors.js'
import { readAuthorizationResponse, readState, type AuthorizationResponse } from '../oauth/authorization-response.js'
import type { Configuration } from '../oauth/configuration.js'
import { describeProvider } from '../oauth/failure.js'
import { readGrant } from '../oauth/grant.js'
import { readAccount } from '../oauth/identity.js'
import { redeemCode, wasRefused } from '../oauth/token-request.js'
import { randomToken } from '../random.js'
import type { Grant, Principal, Provider } from '../types.js'
import { assertWon } from './assertions.js'
import { assertNavigation } from './navigation.js'
import { findOwn, type Own } from './own-elicitation.js'
import { recall, remember } from './request-notes.js'
import { requireProvider, type BrowserServices, type Handler } from './services.js'
import { assertNotRevoked, storeGrant } from './storing.js'

const ACCESS_DENIED = 'mcp-connect: the provider answered access_denied: the user refused it there, or the provider did; if no user has, look at scopes and registration'

/** What became of a grant: it is a connection, or its user is asked whether it shall be one. */
type Exchanged = 'stored' | 'undecided'

/** Where an authorization response came to, and which provider that is for whoever is signed in: `null` when that takes somebody who is. */
interface Addressed {
  readonly key: string
  readonly provider: Provider | null
  readonly redirectUri: string
}

/** An authorization response that came back to its own user and browser. */
interface Attempt extends Own {
  readonly provider: Provider
  readonly configuration: Configuration
  readonly principal: Principal
  readonly state: string
  readonly flow: Flow
  /** The redirection endpoint with the query of the response. */
  readonly url: URL
  /** By this name the attempt holds the elicitation, which it alone may end. */
  readonly holder: string
  readonly log: FastifyBaseLogger
}

/**
 * The redirection endpoint of one provider (RFC 6749 section 3.1.2). Whatever fails before the flow is claimed leaves
 * everything as it was, so that nobody can burn somebody else's link, and no code is sent to the provider before that.
 */
export function redirectionEndpoint (services: BrowserServices): Handler {
  const { urls, elicitations, declines, flows, undecidedGrants, connections, revocations, audit } = services

  /** @throws FST_MCP_CONNECT_NOT_FOUND */
  async function findProvider (key: string): Promise<Provider | null> {
    if (!services.providers.has(key)) throw new NotFoundError()
    return await services.resolveProvider(null, key)
  }

  /** The flow that this response belongs to, once it is sure that it came back to its own user and browser. */
  async function findOwnFlow (request: FastifyRequest, state: string, { key, provider, redirectUri }: Addressed):
  Promise<{ readonly flow: Flow, readonly own: Own }> {
    const flow = await flows.find(state)
    if (flow === null) throw new StateInvalidError()
    remember(request, { about: { provider: flow.provider, elicitation: elicitationHash(flow.elicitationId) } })
    const sameContext = flow.provider === key && flow.redirectUri === redirectUri && (provider === null || (flow.issuer === provider.issuer && flow.clientId === provider.clientId))
    if (!sameContext) throw new ContextMismatchError()
    const cookie = services.flowCookies.read(request, state)
    const sameBrowser = cookie !== undefined && matchesFlowCookie(flow, cookie)
    const { visitor = null } = recall(request)
    if (visitor === null) {
      if (!sameBrowser) throw new SignInRequiredError()
      remember(request, { elicitationId: flow.elicitationId })
      throw new SessionLostError()
    }
    const own = await findOwn(services, request, flow.elicitationId, visitor)
    // Before the cookie, which a finished flow has no more: the owner's second click is no attack.
    if (flow.status !== 'started') throw new ConsumedError()
    await assertNotRevoked(services, flow, visitor.principal)
    // The link was good when the button was pressed; from then on the flow's own time counts. Its cookie ends with it.
    if (flow.expiresAt <= Date.now()) throw new ExpiredError()
    if (!sameBrowser) throw new FlowCookieMissingError()
    return { flow, own }
  }

  /** Redeems the code, and keeps what it gives. The operator's log tells of a grant that may be at the provider, and not here. */
  async function connect (attempt: Attempt): Promise<Exchanged> {
    const { principal, flow, elicitation, hash, holder } = attempt
    const facts: AuditedAttempt = { ...auditedElicitation(hash, elicitation), attempt: holder }
    // The user has said yes, whatever becomes of it: an earlier no is void.
    await declines.clear(principal, flow.provider)
    audit('exchange.started', facts)
    try {
      const exchanged = await exchange(attempt)
      audit(`exchange.${exchanged}`, facts)
      return exchanged
    } catch (error) {
      audit(wasRefused(error) ? 'exchange.refused' : 'exchange.orphan_possible', facts)
      throw error
    }
  }

  async function exchange (attempt: Attempt): Promise<Exchanged> {
    const { provider, configuration, principal, state, flow, url } = attempt
    const tokens = await redeemCode(configuration, provider, {
      response: url, state, codeVerifier: flow.codeVerifier, ...flow.nonce !== undefined && { nonce: flow.nonce }
    })
    const grant = readGrant(provider, tokens, flow.scopes, await readAccount(configuration, provider, tokens))
    try {
      return await keep(attempt, grant)
    } catch (error) {
      await revocations.discard(principal, flow.provider, { issuer: provider.issuer, clientId: provider.clientId, grant })
      throw error
    }
  }

  async function keep ({ provider, principal, flow, elicitation, hash, holder, log }: Attempt, grant: Grant): Promise<Exchanged> {
    const found = await connections.look(principal, flow.provider, provider)
    const placement = placeGrant(found.kind === 'usable' ? found.entry : null, elicitation, grant.account)
    if (placement.kind === 'clear') {
      await storeGrant(services, { principal, provider, flow, grant, replaces: placement.replaces, hash, holder, log })
      return 'stored'
    }
    const { provider: key, issuer, clientId, scopes, generation } = flow
    await revocations.discardLater(principal, key, { issuer, clientId, grant }, holder, DECISION_TTL_MS + DECISION_MS)
    await undecidedGrants.keep(hash, { grant, replaces: placement.with.id, flow: { provider: key, issuer, clientId, scopes, generation }, attempt: holder })
    return 'undecided'
  }

  /** Does what the provider said. The flow is spent, and nobody else is at this elicitation. */
  async function finish (attempt: Attempt, response: AuthorizationResponse): Promise<Exchanged | 'declined'> {
    const { provider, principal, flow, elicitation, hash, holder } = attempt
    if (!await services.authorize(principal, flow.provider)) {
      assertWon(await endUnconnected(services, elicitation, hash, 'failed', holder))
      throw new NotAuthorizedError()
    }
    if (response.kind === 'error' && response.reason === 'invalid_scope') {
      assertWon(await endUnconnected(services, elicitation, hash, 'failed', holder))      // the link would ask for the same again
      throw new ScopeRefusedError(describeProvider(provider))
    }
    if (response.kind === 'error') throw new ProviderRefusedError(describeProvider(provider), response.reason)
    if (response.kind === 'denied') attempt.log.info({ provider: flow.provider }, ACCESS_DENIED)
    if (response.kind === 'code') return await connect(attempt)
    assertWon(await endUnconnected(services, elicitation, hash, 'declined', holder))
    return 'declined'
  }

  return async (request, reply) => {
    assertNavigation(request)
    const { provider: key, segment } = request.params as { provider: string, segment?: string }
    const { visitor = null } = recall(request)
    const found = visitor === null ? await findProvider(key) : await requireProvider(services, key, visitor.principal)
    const state = readState(request.query)
    const { flow, own } = await findOwnFlow(request, state, { key, provider: found, redirectUri: urls.redirectUri(key, segment) })
    const provider = found!      // whose flow it is, is signed in
    const configuration = await services.configuration(provider)
    const response = readAuthorizationResponse(configuration, provider, request.query)

    const url = urls.withQueryOf(request, flow.redirectUri)
    const { hash, elicitation: { principal } } = own
    const holder = randomToken()
    const attempt = { ...own, provider, configuration, principal, state, flow, url, holder, log: request.log }
    try {
      assertWon(await elicitations.hold(hash, holder))
      if (!await flows.claim(state)) throw new ConsumedError()
      const finished = await finish(attempt, response)
      if (finished === 'undecided') await elicitations.release(hash, holder)
      services.flowCookies.clear(reply, state)
      return reply.redirect(urls.elicitation(flow.elicitationId, finished === 'undecided' ? 'account' : 'done'), 303)
    } catch (error) {
      await elicitations.release(hash, holder).catch(() => {})     // if it cannot be released now, the hold runs out
      throw error
    }
  }
}
