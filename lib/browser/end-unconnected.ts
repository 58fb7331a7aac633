import { askerHash, type Elicitation } from '../elicitation/elicitations.js'
import { assertWon } from './assertions.js'
import type { BrowserServices } from './services.js'

/**
 * Ends an elicitation without a connection, and has everybody told who was handed a link by the same asker.
 * @param holder `null` for somebody who holds nothing
 * @throws FST_MCP_CONNECT_CONSUMED, FST_MCP_CONNECT_HELD
 */
export async function endUnconnected ({ elicitations, declines, completion }: BrowserServices, elicitation: Elicitation, hash: string,
  outcome: 'declined' | 'failed', holder: string | null): Promise<void> {
  assertWon(await elicitations.end(hash, outcome, holder))
  const { principal, provider, client } = elicitation
  const asker = askerHash(elicitation)
  try {
    if (outcome === 'declined' && client !== null) await declines.add(asker, principal, provider)
  } finally {
    completion.announce(asker)
  }
}
