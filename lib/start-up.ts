import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { checkState, checkVault } from './adapters.js'
import { hashFields } from './encoding.js'
import { OptionsError } from './errors.js'
import { allowLoopbackHttp } from './loopback.js'
import type { Settings } from './options.js'
import { randomToken } from './random.js'
import type { StateStore, TokenVault } from './storage.js'
import { isForgetful } from './stores/forgetful.js'

/*
 * What the plugin needs of the application and the stores around it, told at start-up.
 */

/** Ids in our paths are 43 characters, keys of providers up to 64. */
const LONGEST_PARAMETER = 64

type Instance = Pick<Settings, 'cookieName' | 'store' | 'vault'> & { readonly path: string }

/** The instances of the plugin in one application, whichever scopes they are in. */
const instances = new WeakMap<object, Instance[]>()

/**
 * Refuses what would be a surprise at the first request.
 * @param path of the plugin's routes in the application
 * @throws FST_MCP_CONNECT_OPTIONS
 */
export function assertHost (app: FastifyInstance, { decoratorName, cookieName, store, vault }: Settings, path: string): void {
  if (app.hasDecorator(decoratorName)) {
    throw new OptionsError(`app.${decoratorName} exists here already; for a second instance of the plugin choose another decoratorName (and cookieName, prefix and store)`)
  }
  const others = instances.get(app.server) ?? []
  for (const other of others) {
    const same = Object.entries({ cookieName: [cookieName, other.cookieName], prefix: [path, other.path] }).filter(([, [mine, theirs]]) => mine === theirs)
    if (same.length > 0) throw new OptionsError(`another instance of the plugin in this application has the same ${same.map(([name]) => name).join(' and ')} (${same.map(([, [mine]]) => mine).join(', ')}); choose another`)
    if (other.store.state === store.state || other.vault === vault) throw new OptionsError('another instance of the plugin in this application has the same store or vault; give each its own')
  }
  instances.set(app.server, [...others, { cookieName, path, store, vault }])
  const { maxParamLength, routerOptions } = app.initialConfig as { maxParamLength?: number, routerOptions?: { maxParamLength?: number } }
  if (Math.min(maxParamLength ?? Infinity, routerOptions?.maxParamLength ?? Infinity) < LONGEST_PARAMETER) {
    throw new OptionsError(`Fastify's maxParamLength is too small for the links; set it to ${LONGEST_PARAMETER} or more (its default is 100)`)
  }
}

const ADDRESSES = "name the addresses of your proxies instead, such as trustProxy: ['10.0.0.0/8']"

/** With some settings of `trustProxy` the address of a request says nothing about who sent it. */
export function warnOfTrustProxy (app: FastifyInstance, { limits }: Settings): void {
  const trustProxy = optionsOf(app)?.['trustProxy']
  if (limits.address === false) return
  if (trustProxy === true) app.log.warn(`mcp-connect: with trustProxy: true anybody can make up an address (X-Forwarded-For) and get around limits.address; ${ADDRESSES}`)
  if (typeof trustProxy === 'number') app.log.warn(`mcp-connect: with trustProxy: ${trustProxy} all users behind a proxy count as one address, or can make one up, depending on Fastify's version; ${ADDRESSES}`)
}

/** Fastify's initialConfig does not show this option. */
function optionsOf (app: FastifyInstance): Readonly<Record<string, unknown>> | undefined {
  for (let object: object | null = app; object !== null; object = Object.getPrototypeOf(object)) {
    const symbol = Object.getOwnPropertySymbols(object).find(({ description }) => description === 'fastify.options')
    if (symbol !== undefined) return (object as Record<symbol, Readonly<Record<string, unknown>>>)[symbol]
  }
  return undefined
}

/** Twice this is less than Fastify gives a plugin, whose own error would tell nothing (`pluginTimeout`, ten seconds). */
export const START_TIMEOUT_MS = 4500

/**
 * A vault or a store that cannot be used is better told at start-up: by one look into the vault, and a record for a second.
 * @throws FST_MCP_CONNECT_ADAPTER_FAILED, FST_MCP_CONNECT_ADAPTER_INVALID
 */
export async function assertUsable (vault: TokenVault, state: StateStore): Promise<void> {
  const place = hashFields('start-up')
  const key = hashFields('start-up', randomToken())
  await Promise.all([
    checkVault(vault, START_TIMEOUT_MS).get(place, place),
    checkState(state, START_TIMEOUT_MS).put(key, 'start-up', null, 1000),
    checkState(state, START_TIMEOUT_MS).count(`count:${key}`, 1000)
  ])
}

export function warnOfNoProviders (log: FastifyBaseLogger, { providers }: Settings): void {
  if (providers.size === 0) log.warn('mcp-connect: there are no providers, so that no handler can require a connection; name some in the option providers')
}

export function warnOfLoopback (log: FastifyBaseLogger, { browser, providers }: Settings): void {
  const registrations: ReadonlyArray<readonly [name: string, registration: object]> = [['browser', browser], ...providers]
  const open = registrations.filter(([, registration]) => Reflect.get(registration, allowLoopbackHttp) === true).map(([name]) => name)
  if (process.env['NODE_ENV'] !== 'production' || open.length === 0) return
  log.warn(`mcp-connect: [allowLoopbackHttp] is set in production, by ${open.join(', ')}: requests without TLS, and to this machine, are let through. It is for development`)
}

export function warnOfMemory (log: FastifyBaseLogger, parts: Readonly<Record<string, object>>): void {
  const forgetful = Object.keys(parts).filter(name => isForgetful(parts[name]!))
  if (process.env['NODE_ENV'] !== 'production' || forgetful.length === 0) return
  log.warn(`mcp-connect: memoryStore() in production keeps ${forgetful.join(', ')} in this process alone: a restart forgets it all, and with ` +
    'several processes whatever reaches another one than before fails. Use sqliteStore, redisStore or postgresStore')
}
