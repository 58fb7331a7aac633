import type { Requirement } from './requirements.js'

/*
 * What clients, models and people read. Fixed words around configuration alone: nothing that a provider sent stands
 * in them. The connections page is the only address in them, since it holds no id.
 */

/** The message of one elicitation. */
export function connectMessage ({ provider, reason }: Requirement): string {
  return `Connect ${provider.name}${reason === undefined ? '' : ` ${reason}`}.`
}

export function notConnected (missing: readonly Requirement[], connectionsUrl: string): string {
  const names = missing.map(({ provider }) => provider.name).join(' and ')
  return `${missing.map(connectMessage).join(' ')} To do so, the user opens ${connectionsUrl} in a browser, signs in and connects ${names}; then call this again.`
}

export function declined (refused: readonly Requirement[], connectionsUrl: string): string {
  const names = refused.map(({ provider }) => provider.name).join(' and ')
  return `The user declined to connect ${names}. Do not ask again now. If the user changes their mind, they can connect at ${connectionsUrl}; then call this again.`
}

export function scopesWithheld ({ provider }: Requirement, connectionsUrl: string): string {
  return `${provider.name} is connected, but did not grant all the permissions that this needs. The user can connect it again, and allow them, at ${connectionsUrl}; then call this again.`
}

export function notAuthorized ({ provider }: Requirement): string {
  return `This user is not allowed to use ${provider.name} here.`
}

export const NO_PRINCIPAL = 'This needs to know who is asking, and the request carries no authenticated user. The operator of this server finds the reason in its log.'

export const TROUBLE = 'The connection could not be looked up just now. Try again later.'
