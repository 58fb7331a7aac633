import type { FastifyRequest } from 'fastify'
import { NavigationRequiredError } from '../errors.js'

const PURPOSES = ['sec-purpose', 'purpose', 'x-purpose', 'x-moz']

/**
 * What is opened once must be opened by a person: not in advance, and not inside of another page. Browsers say so (W3C Fetch Metadata
 * Request Headers; `Sec-Purpose` of the Fetch standard, and what came before it); whoever says nothing is let through.
 * @throws FST_MCP_CONNECT_NAVIGATION_REQUIRED
 */
export function assertNavigation ({ headers }: FastifyRequest): void {
  const { 'sec-fetch-dest': destination = 'document' } = headers
  const inAdvance = PURPOSES.some(name => /prefetch|prerender|preview/i.test(String(headers[name] ?? '')))
  if (destination !== 'document' || inAdvance) throw new NavigationRequiredError()
}
