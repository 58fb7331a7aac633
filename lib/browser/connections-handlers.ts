import type { Lookup } from '../connections/connections.js'
import { freshnessOf } from '../connections/freshness.js'
import { assertAuthorized } from './assertions.js'
import type { FormView } from './forms.js'
import { connectionsPage, type ConnectionView } from './pages/connections.js'
import { accountView, page, providerHost, requireProvider, requireVisitor, type BrowserServices, type Handler } from './services.js'

/** The handlers of the connections page: what every client without URL mode sends its user to. */
export function connectionsHandlers (services: BrowserServices): Record<'show' | 'connect' | 'disconnect', Handler> {
  const { urls, connections, forms } = services

  return {
    show: page(services, () => urls.connections, async (visitor, request, reply) => {
      const { principal } = visitor
      const csrf = await forms.open(request, reply, principal)
      const views: ConnectionView[] = []
      for (const [key, provider] of services.providers) {
        const status = statusOf(await connections.look(principal, key, provider))
        const mayConnect = await services.authorize(principal, key)
        if (!mayConnect && status.kind === 'none') continue
        const form = (step: 'connect' | 'disconnect'): FormView => ({ action: urls.provider(key, step), csrf: csrf([step, key]) })
        views.push({
          key,
          name: provider.name,
          host: providerHost(provider),
          status,
          connect: mayConnect ? form('connect') : null,
          disconnect: form('disconnect')
        })
      }
      const account = accountView(services, visitor, urls.connections)
      const signOut = services.login === null ? null : { action: urls.login('sign-out'), csrf: csrf(['sign out']) }
      return reply.send(connectionsPage({ server: services.name, account, signOut, connections: views }))
    }),

    async connect (request, reply) {
      const { principal } = requireVisitor(request)
      const { provider: key } = request.params as { provider: string }
      const provider = requireProvider(services, key)
      await forms.check(request, principal, ['connect', key])
      await assertAuthorized(services, { principal, provider: key })
      const found = await connections.look(principal, key, provider)
      // What was withheld before is asked for again: the user may be here to allow it.
      const before = found.kind === 'usable' ? found.entry.accounts[0].grant.requestedScopes : []
      await services.declines.clear(principal, key)
      const scopes = [...new Set([...before, ...provider.scopes])]
      const { id } = await services.elicitations.offer({ principal, provider: key, scopes, reasons: [] }, null)
      return reply.redirect(urls.elicitation(id), 303)
    },

    async disconnect (request, reply) {
      const { principal } = requireVisitor(request)
      const { provider: key } = request.params as { provider: string }
      requireProvider(services, key)
      await forms.check(request, principal, ['disconnect', key])
      await services.flows.revoke(principal, key)
      await connections.remove(principal, key)
      return reply.redirect(urls.connections, 303)
    }
  }
}

function statusOf (found: Lookup): ConnectionView['status'] {
  if (found.kind !== 'usable') return { kind: found.kind }
  const [stored] = found.entry.accounts
  const { grant, connectedAt, deadAt } = stored
  const hasEnded = deadAt !== undefined || (grant.refreshToken === undefined && freshnessOf(stored) === 'expired')
  return { kind: hasEnded ? 'expired' : 'connected', since: connectedAt, account: grant.account?.label, scopes: grant.scopes }
}
