import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { createCookies } from './browser/cookies.js'
import { createCsrf } from './browser/csrf.js'
import { createFlowCookies } from './browser/flow-cookie.js'
import { logRoutesOnly } from './browser/logging.js'
import { registerRoutes } from './browser/routes.js'
import { createBrowserSessions } from './browser/session.js'
import { createUrls } from './browser/urls.js'
import { requireVisitor } from './browser/visitors.js'
import { createConnections } from './connections/connections.js'
import { createCompletion } from './elicitation/completion.js'
import { createElicitations } from './elicitation/elicitations.js'
import { createFlows } from './elicitation/flows.js'
import { createDecide } from './guard/guard.js'
import { loadSdkCopies } from './guard/sdk-v1-copies.mjs'
import { createSdkV1Guard } from './guard/sdk-v1.js'
import { createConfigurations } from './oauth/configuration.js'
import { resolveOptions } from './options.js'
import type { McpConnect, McpConnectOptions, McpServerLike } from './types.js'
import { createKeyRing } from './vault/key-ring.js'
import { createSealer } from './vault/sealer.js'

declare module 'fastify' {
  interface FastifyInstance {
    mcpConnect: McpConnect
  }
}

async function plugin (app: FastifyInstance, options: McpConnectOptions): Promise<void> {
  const { baseUrl, prefix, name, store, vault, keys, browser, providers, principal, authorize, ...settings } = resolveOptions(options)
  const log = app.log
  const urls = createUrls(baseUrl, app.prefix + prefix)
  const ring = createKeyRing(keys)
  const sealer = createSealer(ring)
  const { state } = store

  const elicitations = createElicitations({ state, sealer, ttlMs: settings.elicitationTtlMs, declineCoolDownMs: settings.declineCoolDownMs })
  const connections = createConnections({ vault, sealer })
  const completion = await createCompletion(store.bus, error => log.warn({ err: error }, 'mcp-connect: other processes could not be told that an elicitation has ended'))
  app.addHook('onClose', async () => {
    await completion.close()
    await store.close()
  })

  await app.register(async child => {
    const cookies = await createCookies(child, urls.secure)
    logRoutesOnly(child)
    await registerRoutes(child, {
      name,
      urls,
      providers,
      elicitations,
      flows: createFlows({ state, sealer }),
      completion,
      connections,
      sessions: createBrowserSessions(ring, cookies),
      flowCookies: createFlowCookies(cookies),
      csrf: createCsrf(ring, urls.origin),
      configuration: createConfigurations(),
      requireVisitor: (request, reply) => requireVisitor(browser, request, reply),
      signInUrl: returnTo => browser.signInUrl?.(returnTo) ?? null,
      authorize
    })
  }, { prefix })

  const sdkCopies = await loadSdkCopies()
  const decide = createDecide({
    connections,
    elicitations,
    completion,
    principal,
    authorize,
    whenCapabilityUnknown: settings.whenCapabilityUnknown,
    connectionsUrl: urls.connections,
    elicitationUrl: id => urls.elicitation(id),
    log
  })
  const mcpConnect = {
    connectionsUrl: urls.connections,
    for: (server: McpServerLike) => createSdkV1Guard({ server, copies: sdkCopies(), providers, decide })
  }
  app.decorate('mcpConnect', mcpConnect as unknown as McpConnect)
}

/** Lets an MCP server act for its users at third parties. See the README for its options. */
export const mcpConnect = fp(plugin, { fastify: '5.x', name: 'fastify-mcp-connect' })
