import { askerHash, type Elicitation, type Turn } from '../elicitation/elicitations.js'
import { assertWon } from './assertions.js'
import type { BrowserServices } from './services.js'

/**
 * Ends an elicitation without a connection, and has everybody told who was handed a link of the same asker.
 * @param holder `null` for somebody who holds nothing
 * @throws FST_MCP_CONNECT_CONSUMED, FST_MCP_CONNECT_HELD
 */
export async function endUnconnected ({ elicitations, declines, completion }: BrowserServices, elicitation: Elicitation, hash: string,
  outcome: 'declined' | 'failed', holder: string | null): Promise<void> {
  const { principal, provider, client } = elicitation
  const asker = askerHash(elicitation)
  let turn: Turn | undefined
  try {
    turn = await elicitations.end(hash, outcome, holder)
    assertWon(turn)
    if (outcome === 'declined' && client !== null) await declines.add(asker, principal, provider)
  } finally {
    // Told also when the store failed: it may have ended all the same. Whoever holds it tells by themselves.
    if (client !== null && turn !== 'held') completion.announce(asker, await elicitations.retire(principal, provider).catch(() => undefined))
  }
}
