import type { FastifyInstance } from 'fastify'
import { OptionsError } from '../errors.js'
import type { EndpointSettings } from './types.js'

/*
 * What is seen only beside the rest of the application, told at start-up.
 */

/** @throws FST_MCP_CONNECT_OPTIONS */
export function assertFree (app: FastifyInstance, path: string): void {
  if (!['GET', 'POST', 'DELETE'].some(method => app.hasRoute({ method, url: path }))) return
  throw new OptionsError(`mcpEndpoint: there is a route at ${path} already; register the endpoint once, or choose another path`)
}

/** Addresses that fit behind a proxy that rewrites them, and otherwise do not. */
export function tellOfAddresses (app: FastifyInstance, { path, auth: { resource } }: EndpointSettings): void {
  const connectionsUrl = connectionsUrlOf(app)
  if (connectionsUrl?.startsWith(`${resource}/`) === true && resource.endsWith(path)) {
    app.log.warn(`mcp-connect: baseUrl is the address of the MCP endpoint, so that people are sent to ${connectionsUrl}; set it to the address of the application, ${resource.slice(0, -path.length)}`)
  }
  if (new URL(resource).pathname !== path) {
    app.log.info(`mcp-connect: the MCP endpoint is at ${path} here, and for clients at ${resource} (auth.resource); your proxy must rewrite the one to the other`)
  }
}

/** The plugin need not be there. */
function connectionsUrlOf (app: object): string | undefined {
  const { mcpConnect } = app as { readonly mcpConnect?: { readonly connectionsUrl?: string } }
  return mcpConnect?.connectionsUrl
}

/** @returns what createServer has thrown, or what explains it: where there is no plugin, using it is a TypeError that does not name it */
export function explainFailure (app: FastifyInstance, error: unknown): unknown {
  if (!(error instanceof TypeError) || 'mcpConnect' in app) return error
  const explained = new OptionsError(`mcpEndpoint: createServer has failed: ${error.message}. In the scope of the endpoint there is no app.mcpConnect; if that is what is missing, register mcpConnect in the same scope or around it`)
  return Object.assign(explained, { cause: error })
}
