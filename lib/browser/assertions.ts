import { isPending, type Elicitation, type Turn } from '../elicitation/elicitations.js'
import { ConsumedError, ExpiredError, HeldError, NotAuthorizedError } from '../errors.js'
import type { BrowserServices } from './services.js'

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
