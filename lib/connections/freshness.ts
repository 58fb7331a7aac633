import type { Provider } from '../types.js'
import type { StoredGrant } from './entry.js'

/** `due`: it still works, and is better refreshed now. */
export type Freshness = 'fresh' | 'due' | 'expired'

/** A request takes its time: an access token that can be refreshed is not used up to the last moment. */
const MAX_MARGIN_MS = 30_000
/** How long before that it is refreshed. */
const MAX_AHEAD_MS = 5 * 60_000

/**
 * How far an access token has come. Short-lived ones are used for most of their time too. When exactly one is due differs from grant to
 * grant, so that those that came at the same time are not refreshed at the same time, and is the same in all processes.
 */
export function freshnessOf ({ id, version, grant: { expiresAt, refreshToken }, obtainedAt }: Pick<StoredGrant, 'id' | 'version' | 'grant' | 'obtainedAt'>, now = Date.now()): Freshness {
  if (expiresAt === undefined) return 'fresh'
  if (refreshToken === undefined) return expiresAt <= now ? 'expired' : 'fresh'
  const lifetimeMs = Math.max(expiresAt - obtainedAt, 0)
  const endsAt = expiresAt - Math.min(MAX_MARGIN_MS, lifetimeMs / 10)
  if (endsAt <= now) return 'expired'
  const aheadMs = Math.min(MAX_AHEAD_MS, lifetimeMs / 5)
  return endsAt - aheadMs * (0.5 + fraction(id, version) / 2) <= now ? 'due' : 'fresh'
}

/** Whether an access token can be renewed: a refresh token is good for the registration alone that it was granted to. */
export function mayRefresh ({ grant: { refreshToken }, clientId }: StoredGrant, registration: Pick<Provider, 'clientId'>): boolean {
  return refreshToken !== undefined && clientId === registration.clientId
}

/** Whether a grant is of no use any longer, and its user has to connect again. */
export function hasEnded (stored: StoredGrant, registration: Pick<Provider, 'clientId'>): boolean {
  return stored.deadAt !== undefined || (freshnessOf(stored) === 'expired' && !mayRefresh(stored, registration))
}

/** A number from 0 to 1 that is drawn once for each version. @param id random */
function fraction (id: string, version: number): number {
  const bytes = Buffer.from(id, 'base64url')
  return bytes[version % bytes.length]! / 255
}
