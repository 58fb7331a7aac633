import type { FastifyBaseLogger } from 'fastify'
import { setTimeout } from 'node:timers/promises'
import type { Audit, RefreshFailure } from '../audit-events.js'
import { hashFields } from '../encoding.js'
import { AdapterFailedError, SealBrokenError, StoreContentionError } from '../errors.js'
import type { Configuration } from '../oauth/configuration.js'
import { describeProvider } from '../oauth/failure.js'
import { refreshedGrant } from '../oauth/grant.js'
import { refreshTokens, type RefreshAnswer } from '../oauth/refresh-request.js'
import { auditIdsOf } from '../principal.js'
import type { Lease, Leases } from '../state/leases.js'
import type { Grant, Principal, Provider } from '../types.js'
import { withTimeout } from '../with-timeout.js'
import type { Connections } from './connections.js'
import { isSameVersion, type StoredGrant } from './entry.js'
import { freshnessOf, hasEnded, mayRefresh } from './freshness.js'
import type { Pauses } from './pauses.js'

/** Whose grant it is, and of which provider. */
export interface Place {
  readonly principal: Principal
  /** The provider's key. */
  readonly key: string
  readonly provider: Provider
}

/**
 * What there is to work with. `ended`: nothing, until the user connects again. `later` and `misregistered` say nothing of the grant:
 * the provider cannot be asked just now, or does not accept this server, which only its operator can mend.
 */
export type Fresh =
  | { readonly kind: 'fresh', readonly stored: StoredGrant }
  | { readonly kind: 'ended' }
  | { readonly kind: RefreshFailure, readonly retryAfterMs: number }

/** Keeps access tokens fresh: of all processes and calls that need the same one, one asks the provider (RFC 6749 section 6). */
export interface Refreshing {
  /** The grant with an access token that has not expired. One that soon will is refreshed beside. @throws what the store throws */
  fresh (place: Place, stored: StoredGrant): Promise<Fresh>
  /** The grant with another access token than this one, which the API has refused. @throws what the store throws */
  renew (place: Place, refused: StoredGrant): Promise<Fresh>
  /** Ends once no refresh is under way: what a provider has answered is stored. Never fails. */
  close (): Promise<void>
}

interface RefreshingServices {
  readonly connections: Connections
  readonly leases: Leases
  readonly pauses: Pauses
  configuration (provider: Provider): Promise<Configuration>
  /** Takes back tokens that nobody has asked for any longer. */
  discard (place: Place, grant: Grant): Promise<unknown>
  readonly audit: Audit
  readonly log: FastifyBaseLogger
}

/** More than a token request and a look into the vault take, so that nobody else asks before this one has an answer. */
export const LEASE_MS = 15_000
const REQUEST_MS = 11_000
/** What a look into the vault and a write may take. */
const STORE_MS = 12_000
/** Whoever waits does so a little longer than a holder lives who was killed. */
const TURN_MS = LEASE_MS + 2000
const PATIENCE_MS = 20_000
const MIN_POLL_MS = 20
const MAX_POLL_MS = 400
/** A token that is not even this old, nor a quarter of its life, was refused for another reason than its age. Servers may count in whole seconds. */
const NEW_MS = 30_000
/** When a new grant cannot be stored, this is tried again: the old one may be void by now. */
const STORE_DELAYS_MS = [50, 200, 1000, 3000, 10_000, 15_000]
const CLOSE_TIMEOUT_MS = 15_000

export function createRefreshing (services: RefreshingServices): Refreshing {
  const { connections, leases, pauses, audit, log } = services
  const underWay = new Map<string, Promise<Fresh>>()
  const closing = new AbortController()
  /** Of which registrations the operator was told, until it works again. */
  const told = new Set<string>()

  const registrationOf = ({ issuer, clientId }: Provider): string => hashFields(issuer, clientId)
  const leaseKey = ({ id }: StoredGrant): string => hashFields('refresh', id)
  const later = (retryAfterMs = 1000): Fresh => ({ kind: 'later', retryAfterMs })

  async function current ({ principal, key, provider }: Place, { id }: StoredGrant): Promise<StoredGrant | null> {
    const found = await connections.look(principal, key, provider)
    return found.kind === 'usable' ? found.entry.accounts.find(one => one.id === id) ?? null : null
  }

  const outcomeOf = (stored: StoredGrant | null): Fresh => stored === null || stored.deadAt !== undefined ? { kind: 'ended' } : { kind: 'fresh', stored }
  /** Whether there is an outcome without asking the provider. What others have stored may have expired meanwhile. */
  const isSettled = (now: StoredGrant | null, seen: StoredGrant): boolean =>
    now === null || now.deadAt !== undefined || (!isSameVersion(now, seen) && (freshnessOf(now) !== 'expired' || now.grant.refreshToken === undefined))

  /** One refresh at a time for each grant in this process, whoever asks. */
  function start (place: Place, seen: StoredGrant): Promise<Fresh> {
    const running = underWay.get(seen.id)
    if (running !== undefined) return running
    if (closing.signal.aborted) return Promise.resolve(later())      // nobody would wait for what it gives
    const flight = refresh(place, seen).finally(() => underWay.delete(seen.id))
    underWay.set(seen.id, flight)
    return flight
  }

  async function refresh (place: Place, seen: StoredGrant): Promise<Fresh> {
    let configuration: Configuration
    try {
      configuration = await services.configuration(place.provider)
    } catch (error) {
      log.warn({ err: error }, 'mcp-connect: an access token cannot be refreshed now')
      return later()
    }
    const deadline = performance.now() + TURN_MS
    for (let pollMs = MIN_POLL_MS; ; pollMs = Math.min(pollMs * 1.5, MAX_POLL_MS)) {
      const lease = await leases.take(leaseKey(seen))
      if (lease !== null) {
        try {
          return await refreshAlone(place, seen, configuration, lease)
        } finally {
          await lease.release().catch(() => {})       // it ends by itself
        }
      }
      if (performance.now() > deadline || closing.signal.aborted) return later()
      await setTimeout(pollMs * (0.5 + Math.random() / 2), undefined, { signal: closing.signal }).catch(() => {})
      const now = await current(place, seen)
      if (isSettled(now, seen)) return outcomeOf(now)
    }
  }

  /** Nobody else asks the provider meanwhile. */
  async function refreshAlone (place: Place, seen: StoredGrant, configuration: Configuration, lease: Lease): Promise<Fresh> {
    const paused = await pauses.find(leaseKey(seen))
    if (paused !== null) return paused
    const now = await current(place, seen)
    if (isSettled(now, seen)) return outcomeOf(now)
    if (!lease.lasts(REQUEST_MS) && !(await lease.extend() && lease.lasts(REQUEST_MS))) return later()
    const read = now!
    const { grant } = read
    const answer = await refreshTokens(configuration, place.provider, grant.refreshToken!)
    if (answer.kind === 'tokens') return await store(place, read, refreshedGrant(place.provider, answer.tokens, grant), lease)
    if (answer.kind === 'dead') return await bury(place, read)
    return await pause(place, read, answer)
  }

  /** Nothing uses the new tokens before they are in the vault: a rotated refresh token that is lost is the end of the grant. */
  async function store (place: Place, seen: StoredGrant, grant: Grant, lease: Lease, obtainedAt = Date.now(), [delayMs, ...delays]: readonly number[] = STORE_DELAYS_MS): Promise<Fresh> {
    const { principal, key: provider } = place
    const facts = { ...auditIdsOf(principal), provider }
    // Whoever else came to ask while this is stored would end it, with a refresh token that is used up.
    if (!lease.lasts(STORE_MS)) await lease.extend().catch(() => {})
    try {
      const { changed, now } = await connections.change(principal, provider, seen, ({ deadAt: _, ...stored }) => ({ ...stored, grant, version: stored.version + 1, obtainedAt }))
      audit(changed ? 'refresh.ok' : 'refresh.lost_race', facts)
      if (changed) await forgive(place, seen)
      else if (now === null) await services.discard(place, grant)
      return outcomeOf(now)
    } catch (error) {
      if (![AdapterFailedError, StoreContentionError, SealBrokenError].some(Class => error instanceof Class) || delayMs === undefined) {
        audit('refresh.unsaved', facts, { err: error })
        throw error
      }
      log.warn({ err: error, provider }, 'mcp-connect: a refreshed grant could not be stored; it is tried again')
    }
    await lease.extend().catch(() => {})
    await setTimeout(delayMs)
    return await store(place, seen, grant, lease, obtainedAt, delays)
  }

  async function forgive ({ provider }: Place, seen: StoredGrant): Promise<void> {
    told.delete(registrationOf(provider))
    await pauses.end(leaseKey(seen)).catch(() => {})
  }

  /** The provider knows the refresh token no longer. It is believed once nobody has stored another one. */
  async function bury (place: Place, seen: StoredGrant): Promise<Fresh> {
    const { principal, key: provider } = place
    const { changed, now } = await connections.change(principal, provider, seen, stored => ({ ...stored, deadAt: Date.now() }))
    if (!changed) {
      audit('refresh.lost_race', { ...auditIdsOf(principal), provider })
      return outcomeOf(now)
    }
    audit('refresh.invalid_grant', { ...auditIdsOf(principal), provider })
    return { kind: 'ended' }
  }

  async function pause ({ principal, key, provider }: Place, seen: StoredGrant, { kind, reason, ...answer }: Extract<RefreshAnswer, { readonly reason: string }>): Promise<Fresh> {
    const name = describeProvider(provider)
    audit('refresh.failed', { ...auditIdsOf(principal), provider: key, failure: kind }, { reason })
    if (kind === 'misregistered' && !told.has(registrationOf(provider))) {
      told.add(registrationOf(provider))
      log.error(`mcp-connect: ${name} does not accept this server's registration: ${reason}. Correct clientId, clientSecret or clientAuthentication; no user can mend it, and none is asked`)
    }
    return await pauses.begin(leaseKey(seen), kind, answer.retryAfterMs)
  }

  async function patiently (flight: Promise<Fresh>): Promise<Fresh> {
    const patience = new AbortController()
    try {
      return await Promise.race([flight, setTimeout(PATIENCE_MS, later(), { signal: patience.signal })])
    } finally {
      patience.abort()
    }
  }

  return {
    async fresh (place, stored) {
      if (hasEnded(stored, place.provider)) return { kind: 'ended' }
      const freshness = freshnessOf(stored)
      if (freshness === 'due' && mayRefresh(stored, place.provider)) start(place, stored).catch(error => log.warn({ err: error }, 'mcp-connect: an access token could not be refreshed ahead of its expiry'))
      return freshness === 'expired' ? await patiently(start(place, stored)) : { kind: 'fresh', stored }
    },

    async renew (place, refused) {
      const { grant: { expiresAt }, obtainedAt } = refused
      const ageMs = Date.now() - obtainedAt
      const isNew = ageMs >= 0 && ageMs < Math.min(NEW_MS, ((expiresAt ?? Infinity) - obtainedAt) / 4)
      if (isNew || !mayRefresh(refused, place.provider)) return { kind: 'fresh', stored: refused }
      return await patiently(start(place, refused))
    },

    async close () {
      closing.abort()
      await withTimeout(Promise.allSettled(underWay.values()), CLOSE_TIMEOUT_MS).catch(() => {})
    }
  }
}
