import type { Requirement } from './requirements.js'

/*
 * What clients, models and people read. Fixed words around configuration only: nothing that a provider sent stands in
 * them. The connections page is the only address in them, since it holds no id.
 */

const list = new Intl.ListFormat('en')

function names (requirements: readonly Requirement[]): string {
  return list.format(requirements.map(({ provider }) => provider.name))
}

/** The message of one elicitation. */
export function connectMessage ({ provider, account, reason }: Requirement): string {
  return `Connect ${account === undefined ? provider.name : `the ${provider.name} account that was named`}${reason === undefined ? '' : ` ${reason}`}.`
}

export function notConnected (missing: readonly Requirement[], connectionsUrl: string): string {
  return `${missing.map(connectMessage).join(' ')} The user can do so in a browser at ${connectionsUrl} and should then call this again.`
}

export function notFinished (missing: readonly Requirement[], connectionsUrl: string): string {
  return `Connecting ${names(missing)} is not finished yet. The user can go on in the browser, or begin again at ${connectionsUrl}, and should then call this again.`
}

export function declined (refused: readonly Requirement[], connectionsUrl: string): string {
  return `Connecting ${names(refused)} was declined. Do not ask again now. A user with second thoughts can connect at ${connectionsUrl} and call this again.`
}

/** @param withheld with the scopes that are lacking */
export function scopesWithheld (withheld: readonly Requirement[], connectionsUrl: string): string {
  const scopes = [...new Set(withheld.flatMap(requirement => requirement.scopes))]
  return `${names(withheld)} did not grant all the permissions that this needs (missing: ${list.format(scopes)}). The user can connect again, and allow them, at ${connectionsUrl} and should then call this again.`
}

export function unreadable (requirements: readonly Requirement[], connectionsUrl: string): string {
  return `What is stored for ${names(requirements)} cannot be read at the moment. Try again later. If it stays so, the user can connect again at ${connectionsUrl} and should then call this again.`
}

/** What is to be said while access cannot be renewed: the user remains connected, and connecting again would not help. */
export const notRefreshed = {
  later: (stuck: readonly Requirement[], seconds: number): string =>
    `${names(stuck)} cannot be reached just now to renew the access. The user remains connected and need not do anything. Try again in ${seconds} seconds.`,
  misregistered: (stuck: readonly Requirement[]): string =>
    `${names(stuck)} does not accept this server just now. The user remains connected and cannot mend it; the operator of this server can find the reason in its log.`
}

export function notAuthorized ({ provider }: Requirement): string {
  return `This user is not allowed to use ${provider.name} here.`
}

export const NO_PRINCIPAL = 'This needs to know who is asking, and the request carries no authenticated user. The operator of this server can find the reason in its log.'

export const TROUBLE = 'The connection could not be looked up just now. Try again later.'
