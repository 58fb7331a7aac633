import { isUnchanged, type Connections, type Lookup } from '../connections/connections.js'
import type { Fresh } from '../connections/refreshing.js'
import type { Completion, Notify } from '../elicitation/completion.js'
import { askerHash, elicitationHash, type Elicitation, type Elicitations, type Link, type Subject } from '../elicitation/elicitations.js'
import { hashConnection } from '../principal.js'
import type { Principal, Provider } from '../types.js'
import type { GuardedCall } from './guarded-call.js'
import type { Requirement } from './requirements.js'

/** A requirement beside what there is. */
export interface Needed extends Requirement {
  readonly provider: Provider
  readonly found: Lookup
  /** What there is to work with of the account that is meant. */
  readonly fresh: Fresh
}

export interface LinkServices {
  readonly connections: Connections
  readonly elicitations: Elicitations
  readonly completion: Completion
}

/** Who makes a call, to the elicitations. */
export function clientOf ({ clientId: id, manifest: { client: { name } } }: GuardedCall): NonNullable<Elicitation['client']> {
  return { id, ...name !== undefined && { name } }
}

/** What is needed, to the elicitations. */
export function subjectOf (principal: Principal, { key: provider, account }: Requirement): Subject {
  return { principal, provider, ...account !== undefined && { account } }
}

/** Has somebody told when there is nothing left to wait for. @returns what gives the wait up */
export function watchLink ({ completion }: LinkServices, principal: Principal, call: GuardedCall, needed: Needed, link: Link,
  waiting: { readonly identity: object, readonly notify: Notify }): () => void {
  const topics = [hashConnection(principal, needed.key), askerHash({ ...subjectOf(principal, needed), client: clientOf(call) })]
  return completion.watch(link, topics, waiting.identity, waiting.notify)
}

/** Whether there still is something to wait for: the link is live, and the vault is as it was when that was decided. */
export async function isOpen ({ elicitations, connections }: LinkServices, principal: Principal, { key, provider, found }: Needed, link: Link): Promise<boolean> {
  const [live, now] = await Promise.all([elicitations.isLive(elicitationHash(link.id)), connections.look(principal, key, provider)])
  return live && isUnchanged(found, now)
}
