import { elicitationHash, type Elicitation, type Subject } from './elicitations.js'
import { endUnconnected, type EndServices } from './end-unconnected.js'

/** Nobody reads and refuses so fast: a client that declines sooner could not show the link. */
const FASTEST_DECLINE_MS = 1000

/**
 * A client has answered that its user does not want to open the link that it was handed.
 * @returns whether that counts as the user's word
 */
export async function declineByClient (services: EndServices, client: NonNullable<Elicitation['client']>, subject: Subject): Promise<boolean> {
  const current = await services.elicitations.current(client, subject)
  if (current.kind !== 'live') return current.kind === 'declined'
  if (Date.now() - current.askedAt < FASTEST_DECLINE_MS) return false
  return await endUnconnected(services, { ...subject, client }, elicitationHash(current.link.id), 'declined', null) === 'won'
}
