import type { FastifyRequest } from 'fastify'
import type { Lookup } from '../connections/connections.js'
import type { StoredGrant } from '../connections/entry.js'
import { hasEnded } from '../connections/freshness.js'
import type { Wish } from '../connections/placement.js'
import { NotFoundError } from '../errors.js'
import { tellsAccounts } from '../oauth/identity.js'
import { plainText } from '../plain-text.js'
import type { Provider } from '../types.js'
import { assertAuthorized } from './assertions.js'
import type { FormView } from './forms.js'
import { connectionsPage, type AccountStatus, type ConnectionView } from './pages/connections.js'
import { accountView, page, providerHost, requireProvider, requireVisitor, type BrowserServices, type Handler } from './services.js'
import type { Visitor } from './visitors.js'

/** What a form of the page is about. */
interface Chosen {
  readonly principal: Visitor['principal']
  readonly key: string
  readonly provider: Provider
  /** The account in the path; absent: all that there is. */
  readonly stored?: StoredGrant
}

/** The handlers of the connections page: what every client without URL mode sends its user to. */
export function connectionsHandlers (services: BrowserServices): Record<'show' | 'connect' | 'add' | 'makeDefault' | 'disconnect', Handler> {
  const { urls, connections, forms } = services

  /** @throws FST_MCP_CONNECT_NOT_FOUND, also for an account that is not there (any longer) */
  async function choose (request: FastifyRequest, step: string): Promise<Chosen> {
    const { principal } = requireVisitor(request)
    const { provider: key, account } = request.params as { provider: string, account?: string }
    const provider = await requireProvider(services, key, principal)
    await forms.check(request, principal, actionOf(step, key, account))
    if (account === undefined) return { principal, key, provider }
    const found = await connections.look(principal, key, provider)
    const stored = found.kind === 'usable' ? found.entry.accounts.find(({ id }) => id === account) : undefined
    if (stored === undefined) throw new NotFoundError()
    return { principal, key, provider, stored }
  }

  /** @returns `null` when there is none for this principal, and `undefined` when that cannot be told: the page is for the others all the same */
  async function findProvider (request: FastifyRequest, principal: Visitor['principal'], key: string): Promise<Provider | null | undefined> {
    try {
      return await services.resolveProvider(principal, key)
    } catch (error) {
      request.log.error({ err: error }, 'mcp-connect: a provider is not shown to a user')
      return undefined
    }
  }

  /** Has the user asked, on the page of a new link. */
  async function ask ({ principal, key, provider }: Chosen, before: StoredGrant | undefined, wish: Wish): Promise<string> {
    await assertAuthorized(services, { principal, provider: key })
    await services.declines.clear(principal, key)
    // What was withheld before is asked for again: the user may be here to allow it.
    const scopes = [...new Set([...before?.grant.requestedScopes ?? [], ...provider.scopes])]
    const { id } = await services.elicitations.offer({ principal, provider: key, ...wish, scopes, reasons: [] }, null)
    return urls.elicitation(id)
  }

  return {
    show: page(services, () => urls.connections, async (visitor, request, reply) => {
      const { principal } = visitor
      const csrf = await forms.open(request, reply, principal)
      const views: ConnectionView[] = []
      for (const [key, { name }] of services.providers) {
        const provider = await findProvider(request, principal, key)
        if (provider === undefined) views.push({ key, name, host: '', status: 'unavailable', accounts: [], connect: null, add: null, disconnect: null })
        if (provider == null) continue
        const found = await connections.look(principal, key, provider)
        const mayConnect = await services.authorize(principal, key)
        if (!mayConnect && found.kind === 'none') continue
        const form = (step: 'connect' | 'add' | 'disconnect'): FormView => ({ action: urls.provider(key, step), csrf: csrf(actionOf(step, key)) })
        const accounts = found.kind === 'usable' ? found.entry.accounts : []
        const accountForm = (step: 'connect' | 'default' | 'disconnect', { id }: StoredGrant): FormView =>
          accounts.length === 1 && step !== 'default' ? form(step) : { action: urls.account(key, id, step), csrf: csrf(actionOf(step, key, id)) }
        views.push({
          key,
          name: provider.name,
          host: providerHost(provider),
          status: found.kind === 'usable' ? 'connected' : found.kind,
          accounts: accounts.map((stored, i) => ({
            ...statusOf(stored, provider),
            isDefault: i === 0 && accounts.length > 1,
            connect: mayConnect ? accountForm('connect', stored) : null,
            makeDefault: i === 0 ? null : accountForm('default', stored),
            disconnect: accountForm('disconnect', stored)
          })),
          connect: mayConnect && accounts.length === 0 ? form('connect') : null,
          add: mayConnect && accounts.length > 0 && tellsAccounts(provider) ? form('add') : null,
          disconnect: accounts.length === 1 ? null : form('disconnect')
        })
      }
      const account = accountView(services, visitor, urls.connections)
      const signOut = services.login === null ? null : { action: urls.login('sign-out'), csrf: csrf(['sign out']) }
      const notice = await services.notices.take(request, reply, principal)
      const ended = notice === null ? undefined : services.providers.get(notice.provider)
      return reply.send(connectionsPage({
        server: services.name,
        account,
        signOut,
        notice: ended === undefined ? null : { name: ended.name, atProvider: notice!.atProvider },
        connections: views
      }))
    }),

    async connect (request, reply) {
      const chosen = await choose(request, 'connect')
      const { stored, principal, key, provider } = chosen
      const before = stored ?? defaultOf(await connections.look(principal, key, provider))
      const name = stored?.grant.account?.subject
      return reply.redirect(await ask(chosen, before, name === undefined ? {} : { account: name }), 303)
    },

    async add (request, reply) {
      return reply.redirect(await ask(await choose(request, 'add'), undefined, { another: true }), 303)
    },

    async makeDefault (request, reply) {
      const { principal, key, stored } = await choose(request, 'default')
      await connections.makeDefault(principal, key, stored!.id)
      return reply.redirect(urls.connections, 303)
    },

    async disconnect (request, reply) {
      const { principal, key, stored } = await choose(request, 'disconnect')
      const ended = await services.disconnecting.disconnect(principal, key, stored?.id)
      await services.notices.write(reply, principal, key, ended.map(({ atProvider }) => atProvider))
      return reply.redirect(urls.connections, 303)
    }
  }
}

/** What a form does, and to what. */
function actionOf (step: string, key: string, account?: string): readonly string[] {
  return account === undefined ? [step, key] : [step, key, account]
}

function defaultOf (found: Lookup): StoredGrant | undefined {
  return found.kind === 'usable' ? found.entry.accounts[0] : undefined
}

function statusOf (stored: StoredGrant, provider: Provider): AccountStatus {
  const { grant: { account, scopes }, connectedAt } = stored
  return { name: account?.label ?? (account && plainText(account.subject, 100)), since: connectedAt, scopes, hasEnded: hasEnded(stored, provider) }
}
