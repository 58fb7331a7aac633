import type { FastifyBaseLogger } from 'fastify'
import { missingScopes } from '../connections/scopes.js'
import { type Flow } from '../elicitation/flows.js'
import { DisconnectedError } from '../errors.js'
import { hashConnection } from '../principal.js'
import type { Grant, Principal, Provider } from '../types.js'
import { assertWon } from './assertions.js'
import type { BrowserServices } from './services.js'

const LESS_GRANTED = 'mcp-connect: less was granted than was asked for; if this provider separates scopes otherwise, set its scopeSeparator'

/** A grant that was redeemed by an elicitation, and is to be its user's connection. */
export interface Redeemed {
  readonly principal: Principal
  readonly provider: Provider
  readonly flow: Pick<Flow, 'provider' | 'scopes' | 'generation'>
  readonly grant: Grant
  /** The id of the grant in whose place it comes. */
  readonly replaces: string | null
  /** The elicitation, and by which name it is held. */
  readonly hash: string
  readonly holder: string
  readonly log: FastifyBaseLogger
}

/** @throws FST_MCP_CONNECT_DISCONNECTED */
export async function assertNotRevoked ({ flows }: BrowserServices, flow: Pick<Flow, 'provider' | 'generation'>, principal: Principal): Promise<void> {
  if (await flows.isRevoked(flow, principal)) throw new DisconnectedError()
}

/**
 * Stores a grant and completes its elicitation, or does neither: then the grant is still there at its provider.
 * @throws FST_MCP_CONNECT_DISCONNECTED, FST_MCP_CONNECT_HELD, FST_MCP_CONNECT_CONSUMED
 */
export async function storeGrant (services: BrowserServices, { principal, provider, flow, grant, replaces, hash, holder, log }: Redeemed): Promise<void> {
  const { connections, elicitations, completion, revocations } = services
  const { saved, displaced } = await connections.save(principal, flow.provider, provider, grant, replaces, async () => {
    // Were it somebody else's by now, that one's answer would count, and not this grant.
    assertWon(await elicitations.hold(hash, holder))
    await assertNotRevoked(services, flow, principal)
  })
  const takeBack = async (): Promise<unknown> => await connections.remove(principal, flow.provider, saved.id)
  try {
    // Once more: a disconnect revokes first and removes then, so that one of the two sees the other.
    if (await services.flows.isRevoked(flow, principal)) {
      await takeBack()
      throw new DisconnectedError()
    }
    const turn = await elicitations.end(hash, 'completed', holder)
    // The user may have declined, if the vault took longer than the hold. A grant that this one has replaced is lost then.
    if (turn !== 'won') await takeBack()
    assertWon(turn)
  } finally {
    // Whoever waits for this connection, by whichever link, need not wait any longer.
    completion.announce(hashConnection(principal, flow.provider), await elicitations.retire(principal, flow.provider).catch(() => undefined))
  }
  await Promise.all(displaced.map(async other => await revocations.discard(principal, flow.provider, other)))
  const missing = missingScopes(provider, grant, flow.scopes)
  if (missing.length > 0) log.warn({ provider: flow.provider, missing }, LESS_GRANTED)
}
