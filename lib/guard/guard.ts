import type { FastifyBaseLogger } from 'fastify'
import type { Audit, BlockReason } from '../audit-events.js'
import { createConnection, type ConnectionServices } from '../connections/connection.js'
import { findAccount } from '../connections/entry.js'
import type { Refreshing } from '../connections/refreshing.js'
import { isWithheld, missingScopes } from '../connections/scopes.js'
import type { Link, Wanted } from '../elicitation/elicitations.js'
import { NotRunError, RateLimitedError, StoreContentionError } from '../errors.js'
import { yesOrNo } from '../host-answer.js'
import { auditIdsOf, explainInvalidPrincipal, hashClient, parsePrincipal } from '../principal.js'
import type { Connection, McpConnectOptions, Principal, Provider } from '../types.js'
import type { GuardedCall } from './guarded-call.js'
import { clientOf, isOpen, subjectOf, watchLink, type Needed } from './links.js'
import type { Requirement } from './requirements.js'
import { conclude, type RoundServices } from './rounds.js'
import * as texts from './texts.js'

/** What one provider's elicitation is, to the client (MCP, elicitation). */
export interface UrlElicitation {
  readonly provider: string
  readonly elicitationId: string
  readonly url: string
  readonly message: string
}

export type Decision =
  | { readonly kind: 'run', readonly connections: Readonly<Record<string, Connection>> }
  | { readonly kind: 'elicit', readonly elicitations: readonly UrlElicitation[], readonly message: string }

export interface GuardServices extends RoundServices, Pick<McpConnectOptions, 'clientSupportsUrl'>,
  Pick<Required<McpConnectOptions>, 'principal' | 'authorize' | 'whenCapabilityUnknown' | 'strictCapabilities'> {
  readonly refreshing: Refreshing
  readonly disconnect: ConnectionServices['disconnect']
  /** The provider as it is for a principal: see `ResolveProvider`. */
  resolveProvider (principal: Principal, key: string): Promise<Provider | null>
  readonly connectionsUrl: string
  elicitationUrl (id: string): string
  readonly audit: Audit
  readonly log: FastifyBaseLogger
}

/** Decides what a guarded call comes to: run or elicit; or it ends with a {@link NotRunError}. */
export type Decide = (requirements: readonly Requirement[], call: GuardedCall) => Promise<Decision>

/** A call that does not run, with what its caller is told. */
class BlockedError extends Error {
  constructor (readonly reason: BlockReason, text: string) {
    super(text)
  }
}

type Usable = Needed & { readonly fresh: { readonly kind: 'fresh' } }

function isUsable (needed: Needed): needed is Usable {
  return needed.fresh.kind === 'fresh'
}

/** When it makes sense to try again, at the latest. */
function retrySeconds (stuck: readonly Needed[]): number {
  return Math.max(1, ...stuck.map(({ fresh }) => 'retryAfterMs' in fresh ? Math.ceil(fresh.retryAfterMs / 1000) : 0))
}

export function createDecide (services: GuardServices): Decide {
  const { connections, refreshing, elicitations, connectionsUrl, audit, log } = services
  const handle: ConnectionServices = { fresh: refreshing.fresh, renew: refreshing.renew, disconnect: services.disconnect }

  function identify ({ claims }: GuardedCall): Principal {
    if (claims === undefined) {
      log.error('mcp-connect: a guarded handler was called without verified claims; have your bearer verification set authInfo.extra to the claims of the access token')
      throw new BlockedError('no_principal', texts.NO_PRINCIPAL)
    }
    const made = services.principal(claims)
    const principal = parsePrincipal(made)
    if (principal !== null) return principal
    log.error(`mcp-connect: principal(claims) gave no issuer and subject: ${explainInvalidPrincipal(made)}. If a claim is missing, have your bearer verification set authInfo.extra to the claims of the access token, or set the principal option`)
    throw new BlockedError('no_principal', texts.NO_PRINCIPAL)
  }

  async function look (principal: Principal, requirement: Requirement): Promise<Needed> {
    const { key } = requirement
    if (!await services.authorize(principal, key)) throw new BlockedError('not_authorized', texts.notAuthorized(requirement))
    const provider = await services.resolveProvider(principal, key)
    if (provider === null) throw new BlockedError('not_authorized', texts.notAuthorized(requirement))
    const found = await connections.look(principal, key, provider)
    const stored = found.kind === 'usable' ? findAccount(found.entry, requirement.account) : undefined
    return { ...requirement, provider, found, fresh: stored === undefined ? { kind: 'ended' } : await refreshing.fresh({ principal, key, provider }, stored) }
  }

  const wantedOf = (principal: Principal, needed: Needed): Wanted => ({
    ...subjectOf(principal, needed),
    scopes: needed.scopes,
    reasons: needed.reason === undefined ? [] : [needed.reason]
  })

  /** Hands out one link for each missing provider. @returns `null` when nobody need wait for one of them any longer */
  async function elicit (principal: Principal, call: GuardedCall, missing: readonly Needed[]): Promise<UrlElicitation[] | null> {
    const handed = await Promise.all(missing.map(async needed =>
      ({ needed, link: await elicitations.request(clientOf(call), wantedOf(principal, needed)) })))
    const refused = handed.filter(({ link }) => link === null)
    if (refused.length > 0) {
      const declined = refused.map(({ needed }) => needed)
      return await fallBack(principal, call, declined, 'declined', texts.declined(declined, connectionsUrl))
    }
    const giveUps = handed.map(({ needed, link }) => watch(principal, call, needed, link!))
    let open = false
    try {
      // Looked at once they are watched: what happens from now on is told.
      open = (await Promise.all(handed.map(({ needed, link }) => isOpen(services, principal, needed, link!)))).every(Boolean)
    } finally {
      if (!open) for (const giveUp of giveUps) giveUp()
    }
    if (!open) return null
    return handed.map(({ needed, link }) =>
      ({ provider: needed.key, elicitationId: link!.id, url: services.elicitationUrl(link!.id), message: texts.connectMessage(needed) }))
  }

  /** Has the MCP session told when the wait is over, if there is one. @returns what gives the wait up */
  function watch (principal: Principal, call: GuardedCall, needed: Needed, link: Link): () => void {
    const { mcpSession } = call
    const notify = mcpSession?.createNotify(link.id) ?? null
    return mcpSession === null || notify === null ? () => {} : watchLink(services, principal, call, needed, link, { identity: mcpSession.identity, notify })
  }

  /** Sends the user to the connections page, which from now on knows what to ask each provider for. */
  async function fallBack (principal: Principal, call: GuardedCall, needed: readonly Needed[], reason: BlockReason, text: string): Promise<never> {
    await Promise.all(needed.map(one => elicitations.offer(wantedOf(principal, one), clientOf(call)))).catch(noteLimited(principal, call))
    throw new BlockedError(reason, text)
  }

  /** A client that has reached its limit gets a text in place of a link: the connections page is there all the same. */
  const noteLimited = (principal: Principal, { clientId }: GuardedCall) => (error: unknown): void => {
    if (!(error instanceof RateLimitedError)) throw error
    const { limit, first, retryAfterMs } = error
    if (first) audit('ratelimit.hit', { ...auditIdsOf(principal), client: hashClient(clientId), limit }, { reason: `a client of one user has reached limits.${limit}`, retryAfterMs })
  }

  function canElicit ({ urlMode, round, manifest }: GuardedCall): boolean {
    if (urlMode === 'impossible') return false
    if (round !== null && services.strictCapabilities) return true      // the SDK refuses it, with -32021
    const supports = yesOrNo('clientSupportsUrl',
      services.clientSupportsUrl?.(manifest) ?? (urlMode === 'declared' || (urlMode === 'unknown' && services.whenCapabilityUnknown === 'elicit')))
    return supports && (round === null || urlMode === 'declared')
  }

  async function decide (principal: Principal, requirements: readonly Requirement[], call: GuardedCall, attempts = 3, waited = false): Promise<Decision> {
    const needed = await Promise.all(requirements.map(requirement => look(principal, requirement)))
    // Not taken for missing: the operator may put its key back.
    const unreadable = needed.filter(({ found }) => found.kind === 'unreadable')
    if (unreadable.length > 0) return await fallBack(principal, call, unreadable, 'unreadable', texts.unreadable(unreadable, connectionsUrl))
    for (const kind of ['misregistered', 'later'] as const) {
      const stuck = needed.filter(({ fresh }) => fresh.kind === kind)
      if (stuck.length > 0) throw new BlockedError(kind, texts.notRefreshed[kind](stuck, retrySeconds(stuck)))
    }
    const usable = needed.filter(isUsable)
    const withheld = usable.filter(({ provider, fresh, scopes }) => isWithheld(provider, fresh.stored.grant, scopes))
    const lacking = usable.filter(({ provider, fresh, scopes }) => missingScopes(provider, fresh.stored.grant, scopes).length > 0)
    const missing = needed.filter(one => !isUsable(one) || (lacking.includes(one) && !withheld.includes(one)))
    if (missing.length + withheld.length === 0) {
      const ids = auditIdsOf(principal)
      for (const { key: provider } of usable) audit('vault.read', { ...ids, provider })
      return { kind: 'run', connections: Object.fromEntries(usable.map(({ key, provider, fresh }) => [key, createConnection({ principal, key, provider }, fresh.stored, handle)])) }
    }

    const message = missing.length === 0 ? '' : texts.notConnected(missing, connectionsUrl)
    if (withheld.length > 0) {
      const refused = withheld.map(one => ({ ...one, scopes: missingScopes(one.provider, one.fresh.stored.grant, one.scopes) }))
      return await fallBack(principal, call, [...missing, ...withheld], 'scopes_withheld', `${message} ${texts.scopesWithheld(refused, connectionsUrl)}`.trim())
    }
    const { round } = call
    const answered = missing.filter(({ key }) => round !== null && round.answers.has(key))
    if (answered.length > 0) {
      if (waited) throw new BlockedError('not_finished', texts.notFinished(missing, connectionsUrl))
      const concluded = await conclude(services, principal, call, round!, answered)
      if (concluded.kind === 'waited') return await decide(principal, requirements, call, attempts, true)
      if (concluded.kind === 'declined') return await fallBack(principal, call, concluded.refused, 'declined', texts.declined(concluded.refused, connectionsUrl))
      return await fallBack(principal, call, missing, 'not_connected', message)
    }
    if (!canElicit(call)) return await fallBack(principal, call, missing, 'not_connected', message)
    const elicited = await elicit(principal, call, missing).catch(noteLimited(principal, call))
    if (elicited === undefined) return await fallBack(principal, call, missing, 'not_connected', message)
    if (elicited !== null) return { kind: 'elicit', elicitations: elicited, message }
    if (attempts === 1) throw new StoreContentionError()      // a store that loses its records would keep us here for ever
    return await decide(principal, requirements, call, attempts - 1, waited)
  }

  let toldOfAnother = false

  /** Nothing can be known of its client, who gets no links. */
  function warnOfAnotherServer ({ connected }: GuardedCall): void {
    if (connected || toldOfAnother) return
    toldOfAnother = true
    log.warn('mcp-connect: a guard was made for another server than the one that is called, so that nobody gets a link; call app.mcpConnect.for(server) in createServer, with each server that it makes')
  }

  return async (requirements, call) => {
    warnOfAnotherServer(call)
    let principal: Principal | undefined
    try {
      principal = identify(call)
      return await decide(principal, requirements, call)
    } catch (error) {
      if (!(error instanceof BlockedError)) log.error({ err: error }, 'mcp-connect: a guarded call could not be decided')
      const { reason, message } = error instanceof BlockedError ? error : new BlockedError('failure', texts.TROUBLE)
      audit('guard.blocked', { ...principal !== undefined && auditIdsOf(principal), reason, providers: requirements.map(({ key }) => key) },
        { client: call.manifest.client, protocolVersion: call.manifest.protocolVersion, urlMode: call.urlMode })
      throw new NotRunError(message)
    }
  }
}
