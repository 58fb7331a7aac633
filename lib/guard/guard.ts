import type { FastifyBaseLogger } from 'fastify'
import type { Audit, BlockReason } from '../audit-events.js'
import { createConnection } from '../connections/connection.js'
import { isUnchanged, type Connections, type Lookup, type VaultEntry } from '../connections/connections.js'
import { isExpired, isWithheld, missingScopes } from '../connections/scopes.js'
import type { Completion, Notify } from '../elicitation/completion.js'
import { askerHash, elicitationHash, type Elicitations, type Link, type Wanted } from '../elicitation/elicitations.js'
import { NotRunError, RateLimitedError, StoreContentionError } from '../errors.js'
import { auditIdsOf, explainInvalidPrincipal, hashClient, hashConnection, parsePrincipal } from '../principal.js'
import type { Claims, Connection, McpConnectOptions, Principal } from '../types.js'
import type { Requirement } from './requirements.js'
import * as texts from './texts.js'

/** One call of a guarded handler, told without any SDK's words. */
export interface GuardedCall {
  /** The verified claims of the access token; `undefined` when the request carried none. */
  readonly claims: Claims | undefined
  readonly client: { readonly id: string, readonly name?: string }
  /** Whether the client declared URL mode. */
  readonly urlMode: 'declared' | 'undeclared' | 'unknown'
  /** Identifies the MCP session. */
  readonly mcpSession: object
  /** How to tell the MCP session that an elicitation has ended, without keeping it alive; `null` when it cannot be told. */
  createNotify (elicitationId: string): Notify | null
}

/** What one provider's elicitation is, to the client (MCP 2025-11-25, elicitation). */
export interface UrlElicitation {
  readonly elicitationId: string
  readonly url: string
  readonly message: string
}

export type Decision =
  | { readonly kind: 'run', readonly connections: Readonly<Record<string, Connection>> }
  | { readonly kind: 'elicit', readonly elicitations: readonly UrlElicitation[], readonly message: string }

export interface GuardServices extends Pick<Required<McpConnectOptions>, 'principal' | 'authorize' | 'whenCapabilityUnknown'> {
  readonly connections: Connections
  readonly elicitations: Elicitations
  readonly completion: Completion
  readonly connectionsUrl: string
  elicitationUrl (id: string): string
  readonly audit: Audit
  readonly log: FastifyBaseLogger
}

/** A requirement beside what there is. What is unreadable is not taken for missing: the operator may put its key back. */
type Needed = Requirement & { readonly entry: VaultEntry | null, readonly unreadable: boolean, readonly found: Lookup }

/** Decides what a guarded call comes to: run or elicit; or it ends with a {@link NotRunError}. */
export type Decide = (requirements: readonly Requirement[], call: GuardedCall) => Promise<Decision>

/** A call that does not run, with what its caller is told. */
class BlockedError extends Error {
  constructor (readonly reason: BlockReason, text: string) {
    super(text)
  }
}

export function createDecide (services: GuardServices): Decide {
  const { connections, elicitations, completion, connectionsUrl, audit, log } = services

  function identify ({ claims }: GuardedCall): Principal {
    if (claims === undefined) {
      log.error('mcp-connect: a guarded handler was called without verified claims; have your bearer verification set authInfo.extra to the claims of the access token')
      throw new BlockedError('no_principal', texts.NO_PRINCIPAL)
    }
    const made = services.principal(claims)
    const principal = parsePrincipal(made)
    if (principal !== null) return principal
    log.error(`mcp-connect: principal(claims) gave no issuer and subject: ${explainInvalidPrincipal(made)}. Have your bearer verification set authInfo.extra to the claims of the access token, or set the principal option`)
    throw new BlockedError('no_principal', texts.NO_PRINCIPAL)
  }

  async function look (principal: Principal, requirement: Requirement): Promise<Needed> {
    const { key, provider } = requirement
    if (!await services.authorize(principal, key)) throw new BlockedError('not_authorized', texts.notAuthorized(requirement))
    const found = await connections.look(principal, key, provider.issuer)
    return { ...requirement, entry: found.kind === 'usable' ? found.entry : null, unreadable: found.kind === 'unreadable', found }
  }

  const wantedOf = (principal: Principal, { key, scopes, reason }: Needed): Wanted => ({
    principal,
    provider: key,
    scopes,
    reasons: reason === undefined ? [] : [reason]
  })

  /** Hands out one link for each missing provider. @returns `null` when nobody need wait for one of them any longer */
  async function elicit (principal: Principal, call: GuardedCall, missing: readonly Needed[]): Promise<UrlElicitation[] | null> {
    const handed = await Promise.all(missing.map(async needed =>
      ({ needed, link: await elicitations.request(call.client, wantedOf(principal, needed)) })))
    const refused = handed.filter(({ link }) => link === null)
    if (refused.length > 0) {
      const declined = refused.map(({ needed }) => needed)
      return await fallBack(principal, call, declined, 'declined', texts.declined(declined, connectionsUrl))
    }
    const giveUps = handed.map(({ needed, link }) => watch(principal, call, needed, link!))
    let open = false
    try {
      // Looked at once they are watched: what happens from now on is told.
      open = (await Promise.all(handed.map(({ needed, link }) => isOpen(principal, needed, link!)))).every(Boolean)
    } finally {
      if (!open) for (const giveUp of giveUps) giveUp()
    }
    if (!open) return null
    return handed.map(({ needed, link }) => ({ elicitationId: link!.id, url: services.elicitationUrl(link!.id), message: texts.connectMessage(needed) }))
  }

  /** Has the MCP session told when the wait is over. @returns what gives the wait up */
  function watch (principal: Principal, call: GuardedCall, { key: provider }: Needed, link: Link): () => void {
    const { client, mcpSession } = call
    const notify = call.createNotify(link.id)
    if (notify === null) return () => {}
    return completion.watch(link, [hashConnection(principal, provider), askerHash({ principal, provider, client })], mcpSession, notify)
  }

  /** Whether there still is something to wait for: the link is live, and the vault is as it was when that was decided. */
  async function isOpen (principal: Principal, { key, provider, found }: Needed, link: Link): Promise<boolean> {
    const [live, now] = await Promise.all([elicitations.isLive(elicitationHash(link.id)), connections.look(principal, key, provider.issuer)])
    return live && isUnchanged(found, now)
  }

  /** Sends the user to the connections page, which from now on knows what to ask each provider for. */
  async function fallBack (principal: Principal, call: GuardedCall, needed: readonly Needed[], reason: BlockReason, text: string): Promise<never> {
    await Promise.all(needed.map(one => elicitations.offer(wantedOf(principal, one), call.client))).catch(noteLimited(principal, call))
    throw new BlockedError(reason, text)
  }

  /** The page is there all the same. */
  const noteLimited = (principal: Principal, { client }: GuardedCall) => (error: unknown): void => {
    if (!(error instanceof RateLimitedError)) throw error
    const { limit, first, retryAfterMs } = error
    if (first) audit('ratelimit.hit', { ...auditIdsOf(principal), client: hashClient(client.id), limit }, { reason: `a client of one user has reached limits.${limit}`, retryAfterMs })
  }

  async function decide (principal: Principal, requirements: readonly Requirement[], call: GuardedCall, attempts = 3): Promise<Decision> {
    const needed = await Promise.all(requirements.map(requirement => look(principal, requirement)))
    const unreadable = needed.filter(one => one.unreadable)
    if (unreadable.length > 0) return await fallBack(principal, call, unreadable, 'unreadable', texts.unreadable(unreadable, connectionsUrl))
    const usable = needed.filter(({ entry }) => entry !== null && !isExpired(entry.grant))
    const withheld = usable.filter(({ entry, scopes }) => isWithheld(entry!.grant, scopes))
    const missing = needed.filter(one => !withheld.includes(one) && (!usable.includes(one) || missingScopes(one.entry!.grant, one.scopes).length > 0))
    if (missing.length + withheld.length === 0) {
      const ids = auditIdsOf(principal)
      for (const { key: provider } of needed) audit('vault.read', { ...ids, provider })
      return { kind: 'run', connections: Object.fromEntries(needed.map(({ key, provider, entry }) => [key, createConnection(key, provider, entry!.grant)])) }
    }

    const message = missing.length === 0 ? '' : texts.notConnected(missing, connectionsUrl)
    if (withheld.length > 0) {
      const lacking = withheld.map(one => ({ ...one, scopes: missingScopes(one.entry!.grant, one.scopes) }))
      return await fallBack(principal, call, [...missing, ...withheld], 'scopes_withheld', `${message} ${texts.scopesWithheld(lacking, connectionsUrl)}`.trim())
    }
    const canElicit = call.urlMode === 'declared' || (call.urlMode === 'unknown' && services.whenCapabilityUnknown === 'elicit')
    if (!canElicit) return await fallBack(principal, call, missing, 'not_connected', message)
    const elicited = await elicit(principal, call, missing).catch(noteLimited(principal, call))
    if (elicited === undefined) return await fallBack(principal, call, missing, 'not_connected', message)
    if (elicited !== null) return { kind: 'elicit', elicitations: elicited, message }
    if (attempts === 1) throw new StoreContentionError()      // a store that loses its records would keep us here for ever
    return await decide(principal, requirements, call, attempts - 1)
  }

  return async (requirements, call) => {
    let principal: Principal | undefined
    try {
      principal = identify(call)
      return await decide(principal, requirements, call)
    } catch (error) {
      if (!(error instanceof BlockedError)) log.error({ err: error }, 'mcp-connect: a guarded call could not be decided')
      const { reason, message } = error instanceof BlockedError ? error : new BlockedError('failure', texts.TROUBLE)
      audit('guard.blocked', { ...principal !== undefined && auditIdsOf(principal), reason, providers: requirements.map(({ key }) => key) })
      throw new NotRunError(message)
    }
  }
}
