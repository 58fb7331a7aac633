import type { FastifyBaseLogger } from 'fastify'
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { hashFields } from '../encoding.js'
import { OptionsError, RegistrationError, StoreTimeoutError } from '../errors.js'
import { clientShape } from '../registration.js'
import { objectErrors } from '../schemas.js'
import type { Principal, Provider, TenantProvider, TenantRegistration } from '../types.js'
import { withTimeout } from '../with-timeout.js'
import { defineProvider } from './define-provider.js'

/**
 * The provider as it is for a principal: with the registration of its tenant, or with the one that all have.
 * @param principal `null` when nobody is signed in: no tenant's registration is looked for then
 * @returns `null` when there is none for this principal, or no such provider
 * @throws FST_MCP_CONNECT_REGISTRATION when a registration cannot be had, or is wrong
 */
export type ResolveProvider = (principal: Principal | null, key: string) => Promise<Provider | null>

/** How long a registration is used before it is looked up again. */
const FRESH_MS = 60_000
/** How soon after that has failed, and for a tenant that has none. */
const RETRY_MS = 3000
const TIMEOUT_MS = 10_000
/** Tenants whose registrations are kept, of each provider; beyond that, those are forgotten that were not used for the longest time. */
const MAX_TENANTS = 1000

export function createResolveProvider (providers: ReadonlyMap<string, Provider | TenantProvider>, log: FastifyBaseLogger): ResolveProvider {
  const finders = new Map<string, (tenant: string | undefined) => Promise<Provider | null>>()
  for (const [key, provider] of providers) if ('registration' in provider) finders.set(key, createFinder(key, provider, log))
  return async (principal, key) => {
    const provider = providers.get(key)
    if (provider === undefined) return null
    if (!('registration' in provider)) return provider
    return principal === null ? null : await finders.get(key)!(principal.tenant)
  }
}

interface Kept {
  readonly provider: Provider | null
  /** Epoch milliseconds. */
  readonly until: number
}

function createFinder (key: string, template: TenantProvider, log: FastifyBaseLogger): (tenant: string | undefined) => Promise<Provider | null> {
  const ofAll = template.clientId === undefined ? null : withoutRegistration(template)
  // By tenant. The first one was used least recently.
  const kept = new Map<string | undefined, Kept>()
  const underWay = new Map<string | undefined, Promise<Provider | null>>()

  function keep (tenant: string | undefined, one: Kept): Provider | null {
    kept.delete(tenant)
    kept.set(tenant, one)
    for (const oldest of kept.keys()) {
      if (kept.size <= MAX_TENANTS) break
      kept.delete(oldest)
    }
    return one.provider
  }

  async function ask (tenant: string | undefined): Promise<TenantRegistration | null> {
    try {
      return await withTimeout(Promise.resolve(tenant).then(template.registration), TIMEOUT_MS) ?? null
    } catch (error) {
      const timedOut = error instanceof StoreTimeoutError
      throw Object.assign(new RegistrationError(key, timedOut ? 'registration(tenant) did not answer within 10 seconds' : 'registration(tenant) failed'), !timedOut && { cause: error })
    }
  }

  async function find (tenant: string | undefined): Promise<Provider | null> {
    const last = kept.get(tenant)
    let given: TenantRegistration | null
    try {
      given = await ask(tenant)
    } catch (error) {
      if (last === undefined) throw error
      log.warn({ err: error, provider: key }, 'mcp-connect: a registration could not be looked up again; the one that is known goes on to be used')
      return keep(tenant, { ...last, until: Date.now() + RETRY_MS })
    }
    const next = given === null ? ofAll : complete(key, template, given)
    // The same object as before, as long as it says the same: what is known of the authorization server goes by it.
    const provider = last?.provider != null && next !== null && isSame(last.provider, next) ? last.provider : next
    return keep(tenant, { provider, until: Date.now() + (given === null ? RETRY_MS : FRESH_MS) })
  }

  return async tenant => {
    const known = kept.get(tenant)
    if (known !== undefined && known.until > Date.now()) return keep(tenant, known)
    const running = underWay.get(tenant)
    if (running !== undefined) return await running
    const flight = find(tenant).finally(() => underWay.delete(tenant))
    underWay.set(tenant, flight)
    return await flight
  }
}

const givenShape = { ...clientShape, issuer: z.unknown().optional(), apiOrigins: z.unknown().optional() }
/** What it does not name is not a tenant's to say. The rest is checked with the whole. */
const givenSchema = z.strictObject(givenShape, { error: objectErrors(Object.keys(givenShape)) })

/** @throws FST_MCP_CONNECT_REGISTRATION */
function complete (key: string, template: TenantProvider, given: TenantRegistration): Provider {
  const known = givenSchema.safeParse(given)
  if (!known.success) throw new RegistrationError(key, z.prettifyError(known.error))
  try {
    const { clientId: _, clientSecret: __, privateKey: ___, clientAuthentication: ____, registration: _____, ...others } = template
    const { issuer } = given
    if (issuer === undefined || issuer === template.issuer) return defineProvider({ ...others, ...given } as Provider)
    // Of another authorization server nothing else is known, and nothing of it goes to addresses of this one.
    const { endpoints, identity, revocationRequest, requestHeaders, ...rest } = others
    return Object.freeze({ ...defineProvider({ ...rest, ...given, issuer } as Provider), redirectSegment: redirectSegment(issuer) })
  } catch (error) {
    if (error instanceof OptionsError) throw new RegistrationError(key, error.message)
    throw error
  }
}

/** The registration that all have who have none of their own. */
export function withoutRegistration ({ registration: _, ...others }: TenantProvider): Provider {
  return defineProvider(others as Provider)
}

/**
 * Stands in the redirect URI of an authorization server that is a tenant's own. By its redirect URI an answer is told from those of all
 * other servers: one that a tenant has chosen cannot have the answers of others sent to it (RFC 9700 section 4.4.2).
 */
export function redirectSegment (issuer: string): string {
  return hashFields('issuer', issuer).slice(0, 32)
}

function isSame ({ privateKey: a, ...before }: Provider, { privateKey: b, ...now }: Provider): boolean {
  const sameKey = a === undefined || b === undefined ? a === b : a.alg === b.alg && a.kid === b.kid && a.key.equals(b.key)
  return sameKey && isDeepStrictEqual(before, now)
}
