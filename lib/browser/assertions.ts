import { type Elicitation, isPending, type Turn } from '../elicitation/elicitations.js'
import { ConsumedError, ExpiredError, HeldError, NotAuthorizedError, NotFoundError, SubjectMismatchError } from '../errors.js'
import { differingMembers } from '../principal.js'
import type { BrowserServices } from './services.js'
import type { Visitor } from './visitors.js'

/**
 * Whoever opens the link must be whoever asked (MCP 2025-11-25, elicitation, "Phishing"). Of another tenant's there is
 * no telling whether it exists.
 * @throws FST_MCP_CONNECT_NOT_FOUND, FST_MCP_CONNECT_SUBJECT_MISMATCH
 */
export function requireOwn ({ mismatches }: BrowserServices, elicitation: Elicitation | null, { principal }: Visitor): Elicitation {
  if (elicitation === null) throw new NotFoundError()
  const differing = differingMembers(elicitation.principal, principal)
  mismatches.note(principal, differing)
  if (differing.includes('tenant')) throw new NotFoundError()
  if (differing.length > 0) throw new SubjectMismatchError(differing.join(' and '))
  return elicitation
}

/** @throws FST_MCP_CONNECT_CONSUMED, FST_MCP_CONNECT_EXPIRED */
export function assertPending (elicitation: Elicitation): void {
  if (elicitation.status !== 'pending') throw new ConsumedError()
  if (!isPending(elicitation)) throw new ExpiredError()
}

/** @throws FST_MCP_CONNECT_CONSUMED, FST_MCP_CONNECT_HELD */
export function assertWon (turn: Turn): void {
  if (turn === 'held') throw new HeldError()
  if (turn === 'over') throw new ConsumedError()
}

/** @throws FST_MCP_CONNECT_NOT_AUTHORIZED */
export async function assertAuthorized ({ authorize }: BrowserServices, { principal, provider }: Pick<Elicitation, 'principal' | 'provider'>): Promise<void> {
  if (!await authorize(principal, provider)) throw new NotAuthorizedError()
}
