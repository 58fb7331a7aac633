import type { FastifyRequest } from 'fastify'
import type { VaultEntry } from '../connections/connections.js'
import { isExpired } from '../connections/scopes.js'
import { NotAuthorizedError, SealBrokenError } from '../errors.js'
import type { Principal, Provider } from '../types.js'
import type { FormView } from './forms.js'
import { connectionsPage, type ConnectionView } from './pages/connections.js'
import { page, providerHost, requireProvider, requireVisitor, type BrowserServices, type Handler } from './services.js'

/** The handlers of the connections page: what every client without URL mode sends its user to. */
export function connectionsHandlers (services: BrowserServices): Record<'show' | 'connect' | 'disconnect', Handler> {
  const { urls, connections, forms } = services

  /** An entry that cannot be opened takes nothing else down with it, and can still be replaced or removed. */
  async function findEntry (request: FastifyRequest, principal: Principal, key: string, { issuer }: Provider): Promise<VaultEntry | 'unreadable' | null> {
    try {
      return await connections.find(principal, key, issuer)
    } catch (error) {
      if (!(error instanceof SealBrokenError)) throw error
      request.log.error({ code: error.code, provider: key }, `mcp-connect: ${error.message}`)
      return 'unreadable'
    }
  }

  function statusOf (entry: VaultEntry | 'unreadable' | null): ConnectionView['status'] {
    if (entry === null) return { kind: 'none' }
    if (entry === 'unreadable') return { kind: 'unreadable' }
    return { kind: isExpired(entry.grant) ? 'expired' : 'connected', since: entry.connectedAt, scopes: entry.grant.scopes }
  }

  return {
    show: page(services, () => urls.connections, async ({ principal, label }, request, reply) => {
      const csrf = await forms.open(request, reply, principal)
      const views: ConnectionView[] = []
      for (const [key, provider] of services.providers) {
        const status = statusOf(await findEntry(request, principal, key, provider))
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
      return reply.send(connectionsPage({ server: services.name, account: label, connections: views }))
    }),

    async connect (request, reply) {
      const { principal } = await requireVisitor(services, request, reply)
      const { provider: key } = request.params as { provider: string }
      const provider = requireProvider(services, key)
      await forms.check(request, principal, ['connect', key])
      if (!await services.authorize(principal, key)) throw new NotAuthorizedError()
      const entry = await findEntry(request, principal, key, provider)
      const granted = entry === null || entry === 'unreadable' ? [] : entry.grant.scopes
      await services.elicitations.reopen(principal, key)
      const { id } = await services.elicitations.offer({ principal, provider: key, scopes: [...new Set([...granted, ...provider.scopes])], reasons: [] })
      return reply.redirect(urls.elicitation(id), 303)
    },

    async disconnect (request, reply) {
      const { principal } = await requireVisitor(services, request, reply)
      const { provider: key } = request.params as { provider: string }
      requireProvider(services, key)
      await forms.check(request, principal, ['disconnect', key])
      await services.flows.revoke(principal, key)
      await connections.remove(principal, key)
      return reply.redirect(urls.connections, 303)
    }
  }
}
