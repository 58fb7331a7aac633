import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { checkBus, checkState, checkVault } from './adapters.js'
import { createBrowserSessions } from './browser/browser-session.js'
import { createCookies } from './browser/cookies.js'
import { createFlowCookies } from './browser/flow-cookies.js'
import { createForms } from './browser/forms.js'
import { logRoutesOnly } from './browser/logging.js'
import { registerRoutes } from './browser/routes.js'
import { createUrls } from './browser/urls.js'
import { createConnections } from './connections/connections.js'
import { createResealing } from './connections/resealing.js'
import { createCompletion } from './elicitation/completion.js'
import { createDeclines } from './elicitation/declines.js'
import { createElicitations, type Elicitation } from './elicitation/elicitations.js'
import { createFlows } from './elicitation/flows.js'
import { hashFields } from './encoding.js'
import { OptionsError } from './errors.js'
import { createDecide } from './guard/guard.js'
import { loadSdkCopies } from './guard/sdk-v1-copies.mjs'
import { createSdkV1Guard } from './guard/sdk-v1.js'
import { createConfigurations } from './oauth/configuration.js'
import { createAudit } from './ops/audit.js'
import { resolveOptions } from './options.js'
import { hashConnection } from './principal.js'
import { randomToken } from './random.js'
import { isForgetful } from './stores/forgetful.js'
import type { ContextOf, Guard, McpConnect, McpConnectOptions, McpServerLike, StateStore, TokenVault } from './types.js'
import { createKeyRing } from './vault/key-ring.js'
import { createSealer } from './vault/sealer.js'

declare module 'fastify' {
  interface FastifyInstance {
    mcpConnect: McpConnect
  }
}

async function plugin (app: FastifyInstance, options: McpConnectOptions): Promise<void> {
  assertHost(app)
  const { baseUrl, prefix, name, store, keys, browser, providers, principal, authorize, ...settings } = resolveOptions(options)
  const { log } = app
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
  const urls = createUrls(baseUrl, app.prefix + prefix)
  const ring = createKeyRing(keys)
  const sealer = createSealer(ring)
  const records = { state, sealer, onUnreadable: warnOnce(log) }
  const declines = createDeclines(records, settings.declineCoolDownMs)
  const audit = createAudit(log)
  const onAbandoned = ({ principal, provider }: Elicitation, holder: string): void =>
    audit({ event: 'exchange.orphan_possible', attempt: holder, provider, connection: hashConnection(principal, provider) })
  const elicitations = createElicitations({ ...records, declines, onAbandoned }, settings.elicitationTtlMs)
  const resealing = createResealing({ vault, sealer, log })
  const connections = createConnections({ vault, sealer, resealing })
  const completion = await createCompletion(checkBus(store.bus, START_TIMEOUT_MS), error =>
    log.warn({ err: error }, 'mcp-connect: the bus failed; other processes may not have been told that an elicitation has ended'))
  closers.push(completion.close, resealing.close)

  await app.register(async child => {
    logRoutesOnly(child)
    const cookies = await createCookies(child, urls.secure)
    await registerRoutes(child, {
      name,
      urls,
      browser,
      providers,
      authorize,
      elicitations,
      declines,
      flows: createFlows(records),
      completion,
      connections,
      audit,
      flowCookies: createFlowCookies(cookies),
      forms: createForms(ring, createBrowserSessions(ring, cookies), urls.origin),
      configuration: createConfigurations()
    })
  }, { prefix })

  const copies = await loadSdkCopies()
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
  const mcpConnect: McpConnect = {
    connectionsUrl: urls.connections,
    for<S extends McpServerLike> (server: S) {
      const { requireConnection } = createSdkV1Guard({ server, copies: copies(), providers, decide })
      // The overloads are told apart at run time, by parseRequirements.
      return { requireConnection } as Guard<ContextOf<S>>
    },
    reseal: resealing.all
  }
  app.decorate('mcpConnect', mcpConnect)
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

/** Twice this is less than Fastify gives a plugin, whose own error would tell nothing (`pluginTimeout`, ten seconds). */
const START_TIMEOUT_MS = 4500

/**
 * A vault or a store that cannot be used is better told at start-up: by one look into the vault, and a record for a second.
 * @throws FST_MCP_CONNECT_ADAPTER_FAILED, FST_MCP_CONNECT_ADAPTER_INVALID
 */
async function assertUsable (vault: TokenVault, state: StateStore): Promise<void> {
  const place = hashFields('start-up')
  await Promise.all([
    checkVault(vault, START_TIMEOUT_MS).get(place, place),
    checkState(state, START_TIMEOUT_MS).put(hashFields('start-up', randomToken()), 'start-up', null, 1000)
  ])
}

function warnOfMemory (log: FastifyBaseLogger, parts: Readonly<Record<string, object>>): void {
  const forgetful = Object.keys(parts).filter(name => isForgetful(parts[name]!))
  if (process.env['NODE_ENV'] !== 'production' || forgetful.length === 0) return
  log.warn(`mcp-connect: memoryStore() in production keeps ${forgetful.join(', ')} in this process alone: a restart forgets it all, and with ` +
    'several processes whatever reaches another one than before fails. Use sqliteStore, redisStore or postgresStore')
}

/** Ids in our paths are 43 characters, keys of providers up to 64. */
const LONGEST_PARAMETER = 64

/** Refuses at start-up what would be a surprise at the first request. @throws FST_MCP_CONNECT_OPTIONS */
function assertHost (app: FastifyInstance): void {
  if (app.hasDecorator('mcpConnect')) throw new OptionsError('the plugin is registered here already; register it once')
  const { maxParamLength, routerOptions } = app.initialConfig as { maxParamLength?: number, routerOptions?: { maxParamLength?: number } }
  if (Math.min(maxParamLength ?? Infinity, routerOptions?.maxParamLength ?? Infinity) < LONGEST_PARAMETER) {
    throw new OptionsError(`Fastify's maxParamLength is too small for the links; set it to ${LONGEST_PARAMETER} or more (its default is 100)`)
  }
}

/** Lets an MCP server act for its users at third parties. See the README for its options. */
export const mcpConnect = fp(plugin, { fastify: '5.x', name: 'fastify-mcp-connect' })
