import type { FastifyBaseLogger } from 'fastify'
import { createConnection } from '../connections/connection.js'
import type { Connections, VaultEntry } from '../connections/connections.js'
import { isExpired, missingScopes, wereWithheld } from '../connections/scopes.js'
import type { Completion, Notify } from '../elicitation/completion.js'
import type { Elicitations } from '../elicitation/elicitations.js'
import { NotRunError } from '../errors.js'
import { parsePrincipal } from '../principal.js'
import type { Claims, Connection, Principal } from '../types.js'
import type { Requirement } from './requirements.js'
import * as texts from './texts.js'

/** One call of a guarded handler, told without any SDK's words. */
export interface GuardedCall {
  /** The verified claims of the access token; `undefined` when the request carried none. */
  readonly claims: Claims | undefined
  readonly client: { readonly id: string, readonly name?: string }
  /** Whether the client declared URL mode. */
  readonly urlMode: 'declared' | 'undeclared' | 'unknown'
  /** The MCP session, and how to tell it that an elicitation has ended; `null` when it cannot be told. */
  readonly session: object
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

export interface GuardServices {
  readonly connections: Connections
  readonly elicitations: Elicitations
  readonly completion: Completion
  readonly principal: (claims: Claims) => unknown
  readonly authorize: (principal: Principal, provider: string) => Promise<boolean> | boolean
  readonly whenCapabilityUnknown: 'fallback' | 'elicit'
  readonly connectionsUrl: string
  elicitationUrl (id: string): string
  readonly log: FastifyBaseLogger
}

type Missing = Requirement & { readonly entry: VaultEntry | null }
type Handed = { readonly requirement: Requirement, readonly elicitation: { readonly id: string, readonly expiresAt: number } | null }

/** Decides what a guarded call comes to: run, elicit, or end with a {@link NotRunError}. */
export type Decide = (requirements: readonly Requirement[], call: GuardedCall) => Promise<Decision>

export function createDecide (services: GuardServices): Decide {
  const { connections, elicitations, completion, connectionsUrl, log } = services

  function identify ({ claims }: GuardedCall): Principal {
    const principal = claims === undefined ? null : parsePrincipal(services.principal(claims))
    if (principal !== null) return principal
    log.error(claims === undefined
      ? 'mcp-connect: a guarded handler was called without verified claims; have your bearer verification set authInfo.extra to the claims of the access token'
      : 'mcp-connect: principal(claims) gave no issuer and subject; have your bearer verification set authInfo.extra to the claims of the access token, or set the principal option')
    throw new NotRunError(texts.NO_PRINCIPAL)
  }

  /** The live elicitations for what is missing, with granted and missing scopes. A `null` client asks on the connections page. */
  async function request (principal: Principal, client: GuardedCall['client'] | null, missing: readonly Missing[]): Promise<ReadonlyArray<Handed>> {
    return await Promise.all(missing.map(async requirement => {
      const { key, scopes, reason, entry } = requirement
      const wanted = [...new Set([...entry?.grant.scopes ?? [], ...scopes])]
      const elicitation = await elicitations.request({ principal, client, provider: key, scopes: wanted, ...reason !== undefined && { reason } })
      return { requirement, elicitation }
    }))
  }

  async function elicit (principal: Principal, call: GuardedCall, missing: readonly Missing[]): Promise<UrlElicitation[]> {
    const handed = await request(principal, call.client, missing)
    const refused = handed.filter(({ elicitation }) => elicitation === null)
    if (refused.length > 0) throw new NotRunError(texts.declined(refused.map(({ requirement }) => requirement), connectionsUrl))
    return handed.map(({ requirement, elicitation }) => {
      const { id, expiresAt } = elicitation!
      const notify = call.createNotify(id)
      if (notify !== null) completion.watch(id, expiresAt, call.session, notify)
      return { elicitationId: id, url: services.elicitationUrl(id), message: texts.connectMessage(requirement) }
    })
  }

  /** Sends the user to the connections page, which then knows what to ask the provider for. */
  async function fallBack (principal: Principal, missing: readonly Missing[], text: string): Promise<never> {
    await request(principal, null, missing)
    throw new NotRunError(text)
  }

  async function decide (requirements: readonly Requirement[], call: GuardedCall): Promise<Decision> {
    const principal = identify(call)
    const found = await Promise.all(requirements.map(async requirement => {
      if (!await services.authorize(principal, requirement.key)) throw new NotRunError(texts.notAuthorized(requirement))
      return { ...requirement, entry: await connections.find(principal, requirement.key) }
    }))
    const missing = found.filter(({ entry, scopes }) => entry === null || isExpired(entry.grant) || missingScopes(entry.grant, scopes).length > 0)
    if (missing.length === 0) {
      return { kind: 'run', connections: Object.fromEntries(found.map(({ key, provider, entry }) => [key, createConnection(key, provider, entry!.grant)])) }
    }

    const withheld = missing.find(({ entry, scopes }) => entry !== null && !isExpired(entry.grant) && wereWithheld(entry.grant, missingScopes(entry.grant, scopes)))
    if (withheld !== undefined) return await fallBack(principal, [withheld], texts.scopesWithheld(withheld, connectionsUrl))
    const canElicit = call.urlMode === 'declared' || (call.urlMode === 'unknown' && services.whenCapabilityUnknown === 'elicit')
    const message = texts.notConnected(missing, connectionsUrl)
    if (!canElicit) return await fallBack(principal, missing, message)
    return { kind: 'elicit', elicitations: await elicit(principal, call, missing), message }
  }

  return async (requirements, call) => {
    try {
      return await decide(requirements, call)
    } catch (error) {
      if (error instanceof NotRunError) throw error
      log.error({ err: error }, 'mcp-connect: a guarded call could not be decided')
      throw new NotRunError(texts.TROUBLE)
    }
  }
}
