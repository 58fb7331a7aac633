import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Connections } from '../connections/connections.js'
import type { Completion } from '../elicitation/completion.js'
import type { Elicitations } from '../elicitation/elicitations.js'
import type { Flows } from '../elicitation/flows.js'
import type { Configuration } from '../oauth/configuration.js'
import type { Principal, Provider } from '../types.js'
import type { Csrf } from './csrf.js'
import type { FlowCookies } from './flow-cookie.js'
import type { BrowserSessions } from './session.js'
import type { Urls } from './urls.js'
import type { Visitor } from './visitors.js'

/** What the routes work with. */
export interface BrowserServices {
  /** This server, as it is named to people. */
  readonly name: string
  readonly urls: Urls
  readonly providers: ReadonlyMap<string, Provider>
  readonly elicitations: Elicitations
  readonly flows: Flows
  readonly completion: Completion
  readonly connections: Connections
  readonly sessions: BrowserSessions
  readonly flowCookies: FlowCookies
  readonly csrf: Csrf
  configuration (provider: Provider): Promise<Configuration>
  requireVisitor (request: FastifyRequest, reply: FastifyReply): Promise<Visitor>
  signInUrl (returnTo: string): string | null
  authorize (principal: Principal, provider: string): Promise<boolean> | boolean
}

/** The host that people see named as the provider's. */
export function providerHost ({ issuer, endpoints }: Provider): string {
  return new URL(endpoints?.authorization ?? issuer).host
}
