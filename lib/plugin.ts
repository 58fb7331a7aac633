import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { setMaxListeners } from 'node:events'
import { checkBus, checkState, checkVault } from './adapters.js'
import { createBindingCookies } from './browser/binding-cookies.js'
import { hideRawPackets } from './browser/client-errors.js'
import { createCookies } from './browser/cookies.js'
import { createFormCookies } from './browser/form-cookies.js'
import { createForms } from './browser/forms.js'
import { logRoutesOnly } from './browser/logging.js'
import { createLogin } from './browser/login/create-login.js'
import { createMismatches } from './browser/mismatches.js'
import { createNotices } from './browser/notices.js'
import { registerRoutes } from './browser/routes.js'
import { takeUnreadableAddresses } from './browser/unreadable-addresses.js'
import { createUrls } from './browser/urls.js'
import { createVisitLimits } from './browser/visit-limits.js'
import { createConnections } from './connections/connections.js'
import { createDisconnecting } from './connections/disconnecting.js'
import { findAccount, findSuccessor } from './connections/entry.js'
import { createPauses } from './connections/pauses.js'
import { createRefreshing, LEASE_MS } from './connections/refreshing.js'
import { createResealing } from './connections/resealing.js'
import { createRevocations } from './connections/revocations.js'
import type { AnyServerLike, ContextOf, Guard, McpConnect } from './decorator.js'
import { createCompletion } from './elicitation/completion.js'
import { createDeclines } from './elicitation/declines.js'
import { createElicitations } from './elicitation/elicitations.js'
import { createFlows, FLOW_TTL_MS } from './elicitation/flows.js'
import { createUndecidedGrants } from './elicitation/undecided-grants.js'
import { OptionsError, UnknownProviderError } from './errors.js'
import { createGuard } from './guard/create-guard.js'
import { createDecide } from './guard/guard.js'
import { loadSdkV1Copies } from './guard/sdk-v1-copies.js'
import { loadSdkV2 } from './guard/sdk-v2-copy.js'
import { yesOrNo } from './host-answer.js'
import { createConfigurations } from './oauth/configuration.js'
import { isOidcLogin } from './oidc-login.js'
import { createAudit } from './ops/audit.js'
import { resolveOptions } from './options.js'
import { auditIdsOf, parsePrincipal } from './principal.js'
import { createResolveProvider, redirectSegment } from './providers/tenant-registrations.js'
import { assertHost, assertUsable, START_TIMEOUT_MS, warnOfLoopback, warnOfMemory, warnOfNoProviders, warnOfTrustProxy } from './start-up.js'
import { createBrowserSessions } from './state/browser-sessions.js'
import { createLeases } from './state/leases.js'
import { createLimiter, type Limiter } from './state/limiter.js'
import type { Limits, McpConnectOptions, Principal } from './types.js'
import { createKeyRing } from './vault/key-ring.js'
import { createSealer } from './vault/sealer.js'

declare module 'fastify' {
  interface FastifyInstance {
    mcpConnect: McpConnect
  }
}

/** A limit is not worth waiting for. */
const COUNT_TIMEOUT_MS = 1000

async function plugin (app: FastifyInstance, options: McpConnectOptions): Promise<void> {
  const settings = resolveOptions(options)
  const { baseUrl, prefix, name, store, keys, browser, providers, principal, limits } = settings
  assertHost(app, settings, app.prefix + prefix)
  const { log } = app
  const authorize = async (principal: Principal, provider: string): Promise<boolean> => yesOrNo('authorize', await settings.authorize(principal, provider))
  const state = checkState(store.state)
  const vault = checkVault(settings.vault)
  const closers: Array<() => Promise<unknown>> = []
  app.addHook('onClose', async () => {
    try {
      await Promise.all(closers.map(close => close()))
    } finally {
      await store.close()
    }
  })
  await assertUsable(settings.vault, store.state)
  warnOfMemory(log, { vault: settings.vault, state: store.state, bus: store.bus })
  warnOfTrustProxy(app, settings)
  warnOfLoopback(log, settings)
  warnOfNoProviders(log, settings)
  const urls = createUrls(baseUrl, app.prefix + prefix)
  const ring = createKeyRing(keys)
  const sealer = createSealer(ring)
  const records = { state, sealer, onUnreadable: warnOnce(log) }
  const declines = createDeclines(records, settings.declineCoolDownMs)
  const audit = createAudit(log, settings.onAudit)
  const limiter = (kind: keyof Limits): Limiter => createLimiter(kind, limits[kind], checkState(store.state, COUNT_TIMEOUT_MS), error =>
    log.warn({ err: error }, 'mcp-connect: the store failed to count, and what it should have counted was let through'))
  const elicitations = createElicitations({ ...records, declines, limiter: limiter('elicitations'), audit }, settings.elicitationTtlMs)
  const sessions = isOidcLogin(browser) ? createBrowserSessions({ ...records, audit }, { idleMs: browser.idleTtlMs, absoluteMs: browser.absoluteTtlMs }) : null
  const resealing = createResealing({ vault, sealer, audit, log })
  const connections = createConnections({ vault, sealer, resealing, audit })
  const configuration = createConfigurations()
  const flows = createFlows(records)
  const resolveProvider = createResolveProvider(providers, log)
  const revocations = createRevocations({ ...records, connections, providers, resolveProvider, configuration, audit, log })
  const disconnecting = createDisconnecting({
    connections,
    revocations,
    providers,
    endFlows: flows.revoke,
    endSessions: async principal => await sessions?.endAll(principal),
    audit
  })
  const refreshing = createRefreshing({
    connections,
    leases: createLeases('refresh-lease', records, LEASE_MS),
    pauses: createPauses(records),
    configuration,
    discard: async ({ principal, key, provider: { issuer, clientId } }, grant) => await revocations.discard(principal, key, { issuer, clientId, grant }),
    audit,
    log
  })
  const completion = await createCompletion(checkBus(store.bus, START_TIMEOUT_MS), error =>
    log.warn({ err: error }, 'mcp-connect: the bus failed; other processes may not have been told that an elicitation has ended'))
  closers.push(completion.close, resealing.close, async () => {
    await refreshing.close()                      // what it ends with may have to be taken back
    await revocations.close()
  })
  revocations.start()

  takeUnreadableAddresses(app, app.prefix + prefix)
  hideRawPackets(app)
  await app.register(async child => {
    logRoutesOnly(child)
    const cookies = await createCookies(child, urls.secure, settings.cookieName)
    const { login, identity } = isOidcLogin(browser)
      ? createLogin(browser, { principal, sessions: sessions!, ring, cookies, records, urls })
      : { login: null, identity: browser }
    await registerRoutes(child, {
      name,
      urls,
      browser: identity,
      login,
      providers,
      resolveProvider,
      authorize,
      elicitations,
      declines,
      flows,
      undecidedGrants: createUndecidedGrants(records),
      completion,
      connections,
      disconnecting,
      revocations,
      audit,
      flowCookies: createBindingCookies(cookies, 'flow', FLOW_TTL_MS),
      forms: createForms(ring, createFormCookies(ring, cookies), urls),
      notices: createNotices(ring, cookies),
      limits: createVisitLimits(limiter('address'), limiter('principal')),
      mismatches: createMismatches(log),
      configuration
    })
  }, { prefix })

  const redirectUris = [...isOidcLogin(browser) ? [urls.login('callback')] : [], ...[...providers.keys()].map(key => urls.redirectUri(key))]
  log.info({ redirectUris }, 'mcp-connect: these redirect URIs must be registered, each at its authorization server')

  const copies = await loadSdkV1Copies()
  const closing = new AbortController()
  setMaxListeners(0, closing.signal)              // every call that waits has one
  app.addHook('preClose', async () => closing.abort())
  const decide = createDecide({
    connections,
    refreshing,
    disconnect: async ({ principal, key }, stored) => (await disconnecting.disconnect(principal, key, entry => findSuccessor(entry, stored)))[0] ?? null,
    resolveProvider,
    elicitations,
    declines,
    completion,
    principal,
    authorize,
    whenCapabilityUnknown: settings.whenCapabilityUnknown,
    strictCapabilities: settings.strictCapabilities,
    waitMs: settings.waitMs,
    ...settings.clientSupportsUrl !== undefined && { clientSupportsUrl: settings.clientSupportsUrl },
    closing: closing.signal,
    connectionsUrl: urls.connections,
    elicitationUrl: id => urls.elicitation(id),
    audit,
    log
  })
  const mcpConnect: McpConnect = {
    connectionsUrl: urls.connections,
    for<S extends AnyServerLike> (server: S) {
      const { requireConnection } = createGuard({ server, copies: copies(), loadSdkV2, providers, decide })
      // The overloads are told apart at run time, by parseRequirements.
      return { requireConnection } as Guard<ContextOf<S>>
    },
    redirectUri (key, issuer) {
      const provider = providers.get(key)
      if (provider === undefined) throw new UnknownProviderError(key, [...providers.keys()].join(', '))
      return urls.redirectUri(key, issuer === undefined || issuer === provider.issuer ? undefined : redirectSegment(issuer))
    },
    reseal: resealing.all,
    async disconnect (principal, provider, account) {
      const whose = requirePrincipal('disconnect', principal)
      if (!providers.has(provider)) throw new UnknownProviderError(provider, [...providers.keys()].join(', '))
      return await disconnecting.disconnect(whose, provider, account === undefined ? undefined : entry => findAccount(entry, account))
    },
    removePrincipal: async principal => await disconnecting.removePrincipal(requirePrincipal('removePrincipal', principal)),
    async revokeBrowserSessions (principal) {
      if (sessions === null) throw new OptionsError('revokeBrowserSessions ends sessions of oidcLogin; those of a login of your own are yours to end')
      await sessions.endAll(requirePrincipal('revokeBrowserSessions', principal))
    },
    auditIdsOf: principal => auditIdsOf(requirePrincipal('auditIdsOf', principal))
  }
  app.decorate(settings.decoratorName, mcpConnect)
}

/** @throws FST_MCP_CONNECT_OPTIONS */
function requirePrincipal (method: string, value: unknown): Principal {
  const principal = parsePrincipal(value)
  if (principal === null) throw new OptionsError(`${method} takes a principal: { issuer, subject, tenant? }`)
  return principal
}

/** Says of each key that is missing once that records of it count as none. */
function warnOnce (log: FastifyBaseLogger): (error: Error) => void {
  const said = new Set<string>()
  return ({ message }) => {
    if (said.has(message) || said.size === 100) return
    said.add(message)
    log.warn(`mcp-connect: something that is under way counts as not begun. ${message}`)
  }
}

/** Lets an MCP server act for its users at third parties. See the README for its options. */
export const mcpConnect = fp(plugin, { fastify: '5.x', name: 'fastify-mcp-connect' })
