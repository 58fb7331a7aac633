import type { Completion } from './completion.js'
import type { Declines } from './declines.js'
import { askerHash, type Elicitation, type Elicitations, type Subject, type Turn } from './elicitations.js'

export interface EndServices {
  readonly elicitations: Elicitations
  readonly declines: Declines
  readonly completion: Completion
}

/**
 * Ends an elicitation without a connection, and has everybody told who was handed a link of the same asker.
 * @param holder `null` for somebody who holds nothing
 */
export async function endUnconnected ({ elicitations, declines, completion }: EndServices, elicitation: Subject & Pick<Elicitation, 'client'>,
  hash: string, outcome: 'declined' | 'failed', holder: string | null): Promise<Turn> {
  const { principal, provider, client } = elicitation
  const asker = askerHash(elicitation)
  let turn: Turn | undefined
  try {
    turn = await elicitations.end(hash, outcome, holder)
    if (turn === 'won' && outcome === 'declined' && client !== null) await declines.add(askerHash({ principal, provider, client }), principal, provider)
    return turn
  } finally {
    // Told also when the store failed: it may have ended all the same. Whoever holds it tells by themselves.
    if (client !== null && turn !== 'held') completion.announce(asker, await elicitations.retire(principal, provider).catch(() => undefined))
  }
}
