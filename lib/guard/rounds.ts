import { declineByClient } from '../elicitation/client-decline.js'
import type { EndServices } from '../elicitation/end-unconnected.js'
import type { Principal } from '../types.js'
import type { GuardedCall, Round } from './guarded-call.js'
import { clientOf, isOpen, subjectOf, watchLink, type LinkServices, type Needed } from './links.js'
import { waitFor } from './waiting.js'

export interface RoundServices extends LinkServices, EndServices {
  readonly waitMs: number
  /** This server is shutting down. */
  readonly closing: AbortSignal
}

/**
 * What a client's answers to the links of an earlier round come to (MCP 2026-07-28, elicitation): the user has `declined` some, there
 * or on our page; has seen `none`; or agreed to open them and was waited for.
 */
export type Concluded = { readonly kind: 'declined', readonly refused: readonly Needed[] } | { readonly kind: 'none' | 'waited' }

/** @param answered what is still missing, and was answered */
export async function conclude (services: RoundServices, principal: Principal, call: GuardedCall, round: Round, answered: readonly Needed[]): Promise<Concluded> {
  const refused: Needed[] = []
  for (const one of answered) {
    if (round.answers.get(one.key) === 'decline' && await declineByClient(services, clientOf(call), subjectOf(principal, one))) refused.push(one)
  }
  if (refused.length > 0) return { kind: 'declined', refused }
  if (answered.some(({ key }) => round.answers.get(key) !== 'accept')) return { kind: 'none' }
  await waitForUser(services, principal, call, round, answered)
  const currents = await Promise.all(answered.map(one => services.elicitations.current(clientOf(call), subjectOf(principal, one))))
  const since = answered.filter((_needed, i) => currents[i]!.kind === 'declined')
  return since.length > 0 ? { kind: 'declined', refused: since } : { kind: 'waited' }
}

/** Waits until nothing is left to wait for, whatever it came to; a while at most. */
async function waitForUser (services: RoundServices, principal: Principal, call: GuardedCall, round: Round, answered: readonly Needed[]): Promise<void> {
  const giveUps: Array<() => void> = []
  let over = false

  async function untilEnded (needed: Needed): Promise<void> {
    const current = await services.elicitations.current(clientOf(call), subjectOf(principal, needed))
    if (current.kind !== 'live' || over) return
    const told = new Promise<void>(resolve => {
      giveUps.push(watchLink(services, principal, call, needed, current.link, { identity: {}, notify: async () => resolve() }))
    })
    // Looked at once it is watched: what happens from now on is told.
    if (await isOpen(services, principal, needed, current.link)) await told
  }

  try {
    await waitFor(Promise.all(answered.map(untilEnded)), services.waitMs, [round.signal, services.closing], round.progress)
  } finally {
    over = true
    for (const giveUp of giveUps) giveUp()
  }
}
