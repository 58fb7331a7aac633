import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Audit } from '../audit-events.js'
import type { Connections } from '../connections/connections.js'
import type { Disconnecting } from '../connections/disconnecting.js'
import type { Revocations } from '../connections/revocations.js'
import type { Completion } from '../elicitation/completion.js'
import type { Declines } from '../elicitation/declines.js'
import type { Elicitations } from '../elicitation/elicitations.js'
import type { Flows } from '../elicitation/flows.js'
import type { UndecidedGrants } from '../elicitation/undecided-grants.js'
import { NotAuthorizedError, NotFoundError, SignInRequiredError } from '../errors.js'
import type { Configuration } from '../oauth/configuration.js'
import type { BrowserIdentity, McpConnectOptions, Principal, Provider, Registration, TenantProvider } from '../types.js'
import type { BindingCookies } from './binding-cookies.js'
import type { Forms } from './forms.js'
import type { LoginServices } from './login/login-services.js'
import type { Mismatches } from './mismatches.js'
import type { Notices } from './notices.js'
import type { AccountView } from './pages/layout.js'
import { recall, remember } from './request-notes.js'
import type { Urls } from './urls.js'
import type { VisitLimits } from './visit-limits.js'
import { findSignInUrl, findSwitchAccountUrl, type Visitor } from './visitors.js'

export type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

/** What the routes work with. */
export interface BrowserServices {
  /** This server, as it is named to people. */
  readonly name: string
  readonly urls: Urls
  readonly browser: BrowserIdentity
  /** `null` when the host application has its own. */
  readonly login: LoginServices | null
  readonly providers: ReadonlyMap<string, Provider | TenantProvider>
  /** The provider as it is for a principal: see `ResolveProvider`. */
  resolveProvider (principal: Principal | null, key: string): Promise<Provider | null>
  readonly authorize: Required<McpConnectOptions>['authorize']
  readonly elicitations: Elicitations
  readonly declines: Declines
  readonly flows: Flows
  readonly undecidedGrants: UndecidedGrants
  readonly completion: Completion
  readonly connections: Connections
  readonly disconnecting: Pick<Disconnecting, 'disconnect'>
  readonly revocations: Pick<Revocations, 'discard' | 'discardLater' | 'keep'>
  readonly audit: Audit
  readonly flowCookies: BindingCookies
  readonly forms: Forms
  readonly notices: Notices
  readonly limits: VisitLimits
  readonly mismatches: Mismatches
  configuration (registration: Registration): Promise<Configuration>
}

/** @throws FST_MCP_CONNECT_SIGN_IN_REQUIRED for addresses that cannot be opened again after signing in */
export function requireVisitor (request: FastifyRequest): Visitor {
  const { visitor = null } = recall(request)
  if (visitor === null) throw new SignInRequiredError()
  return visitor
}

/**
 * Makes the handler of a page; a visitor who is not signed in is taken to the login, and back to the page.
 * @param urlOf the page's own address: what was requested may be spelled in ways that lead elsewhere
 */
export function page ({ browser }: BrowserServices, urlOf: (request: FastifyRequest) => string,
  show: (visitor: Visitor, request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>): Handler {
  return async (request, reply) => {
    const returnTo = new URL(urlOf(request)).pathname
    remember(request, { returnTo })
    const { visitor = null } = recall(request)
    if (visitor !== null) return await show(visitor, request, reply)
    const signInUrl = findSignInUrl(browser, returnTo)
    if (signInUrl === null) throw new SignInRequiredError()
    return reply.redirect(signInUrl, 303)
  }
}

/** The signed-in account, as a page shows it. @param returnTo the address of the page */
export function accountView ({ browser }: BrowserServices, { label }: Visitor, returnTo: string): AccountView {
  return { label, switchUrl: findSwitchAccountUrl(browser, new URL(returnTo).pathname) }
}

/**
 * The provider that a path names, as it is for whoever is signed in.
 * @throws FST_MCP_CONNECT_NOT_FOUND; FST_MCP_CONNECT_NOT_AUTHORIZED when there is no registration for their tenant; FST_MCP_CONNECT_REGISTRATION
 */
export async function requireProvider ({ providers, resolveProvider }: BrowserServices, key: string, principal: Principal): Promise<Provider> {
  if (!providers.has(key)) throw new NotFoundError()
  const provider = await resolveProvider(principal, key)
  if (provider === null) throw new NotAuthorizedError()
  return provider
}

/** The host that people see named as the provider's. */
export function providerHost ({ issuer, endpoints }: Provider): string {
  return new URL(endpoints?.authorization ?? issuer).host
}
