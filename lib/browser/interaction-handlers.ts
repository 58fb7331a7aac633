import type { FastifyRequest } from 'fastify'
import type { VaultEntry } from '../connections/entry.js'
import { targetOf } from '../connections/placement.js'
import { askedAndGranted } from '../connections/scopes.js'
import { auditedElicitation, type Elicitation } from '../elicitation/elicitations.js'
import { endUnconnected } from '../elicitation/end-unconnected.js'
import { hashFlowCookie } from '../elicitation/flows.js'
import { NotFoundError } from '../errors.js'
import { createAuthorizationRequest } from '../oauth/authorization-request.js'
import { switchAccountPrompt } from '../oauth/configuration.js'
import { plainText } from '../plain-text.js'
import { RANDOM_TOKEN, randomToken } from '../random.js'
import type { Provider } from '../types.js'
import { assertAuthorized, assertPending, assertWon } from './assertions.js'
import { findOwn, type Own } from './own-elicitation.js'
import { completedPage, declinedPage, interactionPage, leavingPage } from './pages/interaction.js'
import { accountView, page, providerHost, requireProvider, requireVisitor, type BrowserServices, type Handler } from './services.js'
import type { Visitor } from './visitors.js'

const ANOTHER = 'a further account'

interface Asked extends Own {
  readonly provider: Provider
}

/** The handlers of one elicitation's addresses. */
export function interactionHandlers (services: BrowserServices): Record<'show' | 'start' | 'decline' | 'done', Handler> {
  const { urls, forms, audit } = services

  /** The elicitation in the path, once it is sure that it is the visitor's own. */
  async function find (request: FastifyRequest, visitor: Visitor): Promise<Asked> {
    const own = await findOwn(services, request, idOf(request), visitor)
    return { ...own, provider: await requireProvider(services, own.elicitation.provider, visitor.principal) }
  }

  /**
   * What is wanted, beside what is granted already: a new grant takes the place of the old one. What the provider granted
   * without having been asked is not asked for.
   */
  async function scopesToAsk ({ elicitation, provider }: Asked): Promise<readonly string[]> {
    const target = targetOf(await connectedAt(elicitation, provider), elicitation)
    const granted = target === undefined ? [] : askedAndGranted(provider, target.grant)
    return [...new Set([...granted, ...elicitation.scopes])]
  }

  async function connectedAt ({ principal, provider: key }: Elicitation, provider: Provider): Promise<VaultEntry | null> {
    const found = await services.connections.look(principal, key, provider)
    return found.kind === 'usable' ? found.entry : null
  }

  /** What the account that was connected last is called there, so that nobody is left with somebody else's unawares. */
  async function accountAtProvider (elicitation: Elicitation, provider: Provider): Promise<string | undefined> {
    const { accounts = [] } = await connectedAt(elicitation, provider) ?? {}
    return [...accounts].sort((a, b) => b.connectedAt - a.connectedAt)[0]?.grant.account?.label
  }

  /** Whether a grant waits for its user's word, which still can be given. One that cannot is ended by itself. */
  async function isUndecided ({ hash, elicitation: { principal }, provider }: Asked): Promise<boolean> {
    const undecided = await services.undecidedGrants.find(hash)
    if (undecided === null) return false
    const { flow } = undecided
    return flow.issuer === provider.issuer && flow.clientId === provider.clientId && !await services.flows.isRevoked(flow, principal)
  }

  /** Which account is meant: what it is called, or is asked for by. */
  async function accountMeant ({ elicitation, provider }: Asked): Promise<string | undefined> {
    return targetOf(await connectedAt(elicitation, provider), elicitation)?.grant.account?.label ?? (elicitation.account === undefined ? undefined : plainText(elicitation.account, 100))
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
      // What was begun before waits for an answer.
      if (await isUndecided(own)) return reply.redirect(urls.elicitation(id, 'account'), 303)
      const scopes = await scopesToAsk(own)
      const csrf = await forms.open(request, reply, visitor.principal)
      audit('elicitation.opened', auditedElicitation(own.hash, elicitation))
      return reply.send(interactionPage({
        server: { name: services.name, host: new URL(urls.origin).host },
        client: elicitation.client?.name ?? null,
        provider: { name: provider.name, host: providerHost(provider) },
        reasons: elicitation.reasons,
        scopes,
        upstream: elicitation.another === true ? ANOTHER : await accountMeant(own),
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
      const redirectUri = urls.redirectUri(elicitation.provider, provider.redirectSegment)
      const loginHint = await accountMeant(own)
      const configuration = await services.configuration(provider)
      const { url, ...secrets } = await createAuthorizationRequest(configuration, provider, {
        redirectUri, scopes, state, ...loginHint !== undefined && { loginHint }, ...elicitation.another === true && { prompt: switchAccountPrompt(configuration) }
      })
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
export function idOf (request: FastifyRequest): string {
  const { id } = request.params as { id: string }
  if (!RANDOM_TOKEN.test(id)) throw new NotFoundError()
  return id
}
