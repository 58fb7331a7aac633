import type { FastifyRequest } from 'fastify'
import { askedAndGranted } from '../connections/scopes.js'
import { auditedElicitation, type Elicitation } from '../elicitation/elicitations.js'
import { endUnconnected } from '../elicitation/end-unconnected.js'
import { hashFlowCookie } from '../elicitation/flows.js'
import { NotFoundError } from '../errors.js'
import { createAuthorizationRequest } from '../oauth/authorization-request.js'
import { RANDOM_TOKEN, randomToken } from '../random.js'
import type { Provider } from '../types.js'
import { assertAuthorized, assertPending, assertWon } from './assertions.js'
import { findOwn, type Own } from './own-elicitation.js'
import { completedPage, declinedPage, interactionPage, leavingPage } from './pages/interaction.js'
import { accountView, page, providerHost, requireProvider, requireVisitor, type BrowserServices, type Handler } from './services.js'
import type { Visitor } from './visitors.js'

interface Asked extends Own {
  readonly provider: Provider
}

/** The handlers of one elicitation's addresses. */
export function interactionHandlers (services: BrowserServices): Record<'show' | 'start' | 'decline' | 'done', Handler> {
  const { urls, forms, audit } = services

  /** The elicitation in the path, once it is sure that it is the visitor's own. */
  async function find (request: FastifyRequest, visitor: Visitor): Promise<Asked> {
    const own = await findOwn(services, request, idOf(request), visitor)
    return { ...own, provider: requireProvider(services, own.elicitation.provider) }
  }

  /**
   * What is wanted, beside what is granted already: a new grant takes the place of the old one. What the provider granted
   * without having been asked is not asked for.
   */
  async function scopesToAsk ({ elicitation: { principal, provider: key, scopes }, provider }: Asked): Promise<readonly string[]> {
    const found = await services.connections.look(principal, key, provider.issuer)
    const granted = found.kind === 'usable' ? askedAndGranted(found.entry.grant) : []
    return [...new Set([...granted, ...scopes])]
  }

  /** What the connected account is called there, so that nobody is left with somebody else's unawares. */
  async function accountAtProvider ({ principal, provider: key }: Elicitation, { issuer }: Provider): Promise<string | undefined> {
    const found = await services.connections.look(principal, key, issuer)
    return found.kind === 'usable' ? found.entry.grant.account?.label : undefined
  }

  /** What a form does. Scopes and reasons that were added since the page was shown make its form invalid: nobody agrees to what they have not seen. */
  const startAction = ({ hash, elicitation }: Own, scopes: readonly string[]): readonly string[] =>
    ['start', hash, ...scopes, ...elicitation.reasons.map(reason => `reason ${reason}`)]
  const declineAction = ({ hash }: Own): readonly string[] => ['decline', hash]

  return {
    /** Reads, and moves nothing: robots that follow links do no harm. */
    show: page(services, request => urls.elicitation(idOf(request)), async (visitor, request, reply) => {
      const own = await find(request, visitor)
      const { id, elicitation, provider } = own
      assertPending(elicitation)
      await assertAuthorized(services, elicitation)
      const scopes = await scopesToAsk(own)
      const csrf = await forms.open(request, reply, visitor.principal)
      audit('elicitation.opened', auditedElicitation(own.hash, elicitation))
      return reply.send(interactionPage({
        server: { name: services.name, host: new URL(urls.origin).host },
        client: elicitation.client?.name ?? null,
        provider: { name: provider.name, host: providerHost(provider) },
        reasons: elicitation.reasons,
        scopes,
        account: accountView(services, visitor, urls.elicitation(id)),
        expiresAt: elicitation.expiresAt,
        goOn: { action: urls.elicitation(id, 'start'), csrf: csrf(startAction(own, scopes)) },
        decline: { action: urls.elicitation(id, 'decline'), csrf: csrf(declineAction(own)) }
      }))
    }),

    /** The button was pressed: only now are there a state and a flow cookie. */
    async start (request, reply) {
      const visitor = requireVisitor(request)
      const own = await find(request, visitor)
      const { id, elicitation, provider } = own
      const scopes = await scopesToAsk(own)
      await forms.check(request, visitor.principal, startAction(own, scopes))
      assertPending(elicitation)
      await assertAuthorized(services, elicitation)
      const state = randomToken()
      const cookie = randomToken()
      const redirectUri = urls.redirectUri(elicitation.provider)
      const { url, ...secrets } = await createAuthorizationRequest(await services.configuration(provider), provider, { redirectUri, scopes, state })
      const { issuer, clientId } = provider
      await services.flows.start(state, visitor.principal, {
        elicitationId: id, provider: elicitation.provider, issuer, clientId, redirectUri, scopes, cookieHash: hashFlowCookie(cookie), ...secrets
      })
      services.flowCookies.write(request, reply, state, cookie)
      audit('elicitation.started', { ...auditedElicitation(own.hash, elicitation), scopes })
      return reply.send(leavingPage({ provider: provider.name, url }))
    },

    async decline (request, reply) {
      const visitor = requireVisitor(request)
      const own = await find(request, visitor)
      await forms.check(request, visitor.principal, declineAction(own))
      assertPending(own.elicitation)
      assertWon(await endUnconnected(services, own.elicitation, own.hash, 'declined', null))
      return reply.redirect(urls.elicitation(own.id, 'done'), 303)
    },

    done: page(services, request => urls.elicitation(idOf(request), 'done'), async (visitor, request, reply) => {
      const { id, elicitation, provider } = await find(request, visitor)
      const names = { provider: provider.name, server: services.name, account: visitor.label, connections: urls.connections }
      if (elicitation.status === 'completed') return reply.send(completedPage({ ...names, upstream: await accountAtProvider(elicitation, provider) }))
      if (elicitation.status === 'declined') return reply.send(declinedPage(names))
      return reply.redirect(urls.elicitation(id), 303)
    })
  }
}

/** @throws FST_MCP_CONNECT_NOT_FOUND for what cannot be an id */
function idOf (request: FastifyRequest): string {
  const { id } = request.params as { id: string }
  if (!RANDOM_TOKEN.test(id)) throw new NotFoundError()
  return id
}
