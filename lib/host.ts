import type { FastifyInstance } from 'fastify'
import { OptionsError } from './errors.js'
import type { Settings } from './options.js'

/*
 * What the plugin needs of the application around it, told at start-up.
 */

/** Ids in our paths are 43 characters, keys of providers up to 64. */
const LONGEST_PARAMETER = 64

type Instance = Pick<Settings, 'decoratorName' | 'cookieName'> & { readonly path: string }

/** The instances of the plugin in one application, whichever scopes they are in. */
const instances = new WeakMap<object, Instance[]>()

/**
 * Refuses what would be a surprise at the first request.
 * @param path of the plugin's routes in the application
 * @throws FST_MCP_CONNECT_OPTIONS
 */
export function assertHost (app: FastifyInstance, { decoratorName, cookieName }: Settings, path: string): void {
  if (app.hasDecorator(decoratorName)) {
    throw new OptionsError(`app.${decoratorName} exists here already; for a second instance of the plugin choose another decoratorName (and cookieName, and prefix)`)
  }
  const others = instances.get(app.server) ?? []
  const clash = others.find(other => other.cookieName === cookieName || other.path === path)
  if (clash !== undefined) throw new OptionsError('another instance of the plugin in this application has the same cookieName or prefix; choose others')
  instances.set(app.server, [...others, { decoratorName, cookieName, path }])
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
