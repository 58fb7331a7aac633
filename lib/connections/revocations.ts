import type { FastifyBaseLogger } from 'fastify'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AtProvider } from '../account.js'
import type { Audit, AuditedConnection } from '../audit-events.js'
import type { Configuration } from '../oauth/configuration.js'
import { revokeGrant, type RevocationAnswer } from '../oauth/revocation-request.js'
import { auditIdsOf } from '../principal.js'
import { randomToken } from '../random.js'
import type { RecordServices } from '../state/records.js'
import type { Grant, Principal, Provider } from '../types.js'
import { withTimeout } from '../with-timeout.js'
import type { Connections } from './connections.js'
import type { StoredGrant } from './entry.js'
import { CLAIM_MS, createPendingRevocations, LISTS, PATIENCE_MS, type PendingRevocation } from './pending-revocations.js'

/** A grant that is to be ended, and whether that is stored, so that others go on when this process ends. */
export interface Prepared {
  readonly pending: PendingRevocation
  readonly isStored: boolean
}

/** What is known of a grant that was not stored, too. */
export type Revocable = Pick<StoredGrant, 'issuer' | 'clientId'> & { readonly grant: Pick<Grant, 'accessToken' | 'refreshToken' | 'account'> }

/** Has providers end what was deleted here, now or later. None of it fails: what becomes of each grant is audited. */
export interface Revocations {
  /**
   * Remembers a grant that is about to be deleted. Should this process end before it has carried that out, another one sees to it: it
   * leaves alone what is still connected.
   */
  prepare (principal: Principal, provider: string, grant: Revocable): Promise<Prepared>
  /** The grant was deleted. Answers after a few seconds at most; then it goes on by itself. */
  carryOut (prepared: Prepared): Promise<AtProvider>
  /** It was not deleted. */
  abandon (prepared: Prepared): Promise<void>
  /** Ends a grant that nobody asks for any longer. */
  discard (principal: Principal, provider: string, grant: Revocable): Promise<AtProvider>
  /** Ends a grant once so much time has passed, unless it is connected by then, or kept. @param name of its own */
  discardLater (principal: Principal, provider: string, grant: Revocable, name: string, delayMs: number): Promise<void>
  /** What was to be discarded later is asked for after all, or discarded already. */
  keep (name: string): Promise<void>
  /** Sees to those that are due, once. */
  sweep (): Promise<void>
  /** Looks for those that are due about every minute. */
  start (): void
  /** Ends once nothing is under way here. Others go on with what is left. */
  close (): Promise<void>
}

interface RevocationsServices extends RecordServices {
  readonly connections: Pick<Connections, 'look'>
  /** By key. */
  readonly providers: ReadonlyMap<string, unknown>
  /** A provider as it is for a principal; `null` when there is none. */
  resolveProvider (principal: Principal, key: string): Promise<Provider | null>
  configuration (provider: Provider): Promise<Configuration>
  readonly audit: Audit
  readonly log: FastifyBaseLogger
}

type Answer = RevocationAnswer | { readonly kind: 'unconfigured' | 'spared' } | { readonly kind: 'later', readonly reason: string, readonly retryAfterMs?: number }

/** How long a user, or a tool, waits for a provider. */
const WAIT_MS = 5000
const INTERVAL_MS = 60_000
const FIRST_MS = 60_000
const LONGEST_MS = 6 * 60 * 60_000
const CLOSE_TIMEOUT_MS = 15_000

export function createRevocations (services: RevocationsServices): Revocations {
  const { connections, providers, audit, log } = services
  const pendings = createPendingRevocations(services)
  const underWay = new Set<Promise<unknown>>()
  let timer: NodeJS.Timeout | undefined
  let closed = false

  const factsOf = ({ principal, provider }: PendingRevocation): AuditedConnection => ({ ...auditIdsOf(principal), provider })

  function track<T> (work: Promise<T>): Promise<T> {
    const tracked = work.finally(() => underWay.delete(tracked))
    underWay.add(tracked)
    return tracked
  }

  /** The provider as it is configured now, if it is the one that has granted this. */
  async function providerOf ({ principal, provider, issuer, clientId }: PendingRevocation): Promise<Provider | null> {
    const configured = await services.resolveProvider(principal, provider)
    return configured?.issuer === issuer && configured.clientId === clientId ? configured : null
  }

  /** Whether the account is connected: servers may end all that a person has granted to a registration (RFC 7009 section 2.1). */
  async function isConnected ({ principal, issuer, clientId, grant }: PendingRevocation): Promise<boolean> {
    for (const key of providers.keys()) {
      const provider = await services.resolveProvider(principal, key)
      if (provider?.issuer !== issuer || provider.clientId !== clientId) continue
      const found = await connections.look(principal, key, provider)
      if (found.kind === 'unreadable') throw found.error      // nobody can tell
      const live = found.kind === 'usable' ? found.entry.accounts.filter(one => one.clientId === clientId && one.deadAt === undefined) : []
      if (live.some(one => maySame(one.grant.account?.subject, grant.account?.subject))) return true
    }
    return false
  }

  async function attempt (pending: PendingRevocation): Promise<Answer> {
    try {
      const provider = await providerOf(pending)
      if (provider === null) return { kind: 'unconfigured' }
      if (await isConnected(pending)) return { kind: 'spared' }
      return await revokeGrant(await services.configuration(provider), provider, pending.grant)
    } catch (error) {
      return { kind: 'later', reason: (error as Error).message }      // of the store, a registration or metadata: ours
    }
  }

  async function conclude ({ pending, isStored }: Prepared): Promise<AtProvider> {
    const answer = await attempt(pending)
    if (answer.kind === 'later') return await postpone(pending, isStored, answer)
    const facts = factsOf(pending)
    if (answer.kind === 'revoked') audit('revocation.done', facts)
    else if (answer.kind === 'spared') audit('revocation.spared', facts)
    else audit('revocation.failed', { ...facts, cause: answer.kind }, 'reason' in answer ? { reason: answer.reason } : {})
    if (isStored) await remove(pending)
    return answer.kind
  }

  /** What cannot be removed is tried once more, which changes nothing. */
  async function remove (pending: Pick<PendingRevocation, 'id' | 'claim'>): Promise<void> {
    await pendings.settle(pending, null).catch(error => log.warn({ err: error }, 'mcp-connect: it could not be noted what became of a grant that was to be ended at its provider; it is looked at once more'))
  }

  async function postpone (pending: PendingRevocation, isStored: boolean, { reason, retryAfterMs = 0 }: Extract<Answer, { readonly kind: 'later' }>): Promise<AtProvider> {
    const backOffMs = Math.min(FIRST_MS * 2 ** pending.failures, LONGEST_MS) * (0.75 + Math.random() / 4)
    const dueAt = Date.now() + Math.max(backOffMs, retryAfterMs)
    if (dueAt > pending.givesUpAt) {
      audit('revocation.failed', { ...factsOf(pending), cause: 'given_up' }, { reason })
      if (isStored) await remove(pending)
      return 'lost'
    }
    const next = { ...pending, failures: pending.failures + 1, dueAt, claim: null }
    try {
      const isKept = isStored ? await pendings.settle(pending, next) : await pendings.add(next)
      if (!isKept && isStored) return 'later'           // somebody else has taken it over, and tells what becomes of it
      if (isKept) audit('revocation.postponed', factsOf(pending), { reason })
      else audit('revocation.failed', { ...factsOf(pending), cause: 'lost' }, { reason: `${reason}; and what is to be told later has no more room` })
      return isKept ? 'later' : 'lost'
    } catch (error) {
      if (isStored) audit('revocation.postponed', factsOf(pending), { reason, err: error })        // it is due again when its claim ends
      else audit('revocation.failed', { ...factsOf(pending), cause: 'lost' }, { reason, err: error })
      return isStored ? 'later' : 'lost'
    }
  }

  async function prepare (principal: Principal, provider: string, { issuer, clientId, grant }: Revocable, name = randomToken(), delayMs = CLAIM_MS): Promise<Prepared> {
    const { accessToken, refreshToken, account } = grant
    const now = Date.now()
    const pending: PendingRevocation = {
      id: name,
      principal,
      provider,
      issuer,
      clientId,
      grant: { accessToken, ...refreshToken !== undefined && { refreshToken }, ...account !== undefined && { account } },
      failures: 0,
      dueAt: now + delayMs,
      givesUpAt: now + PATIENCE_MS,
      claim: name
    }
    // When it cannot be stored the provider is told all the same; if that has to be done later, storing it is tried once more.
    const isConfigured = await providerOf(pending).then(provider => provider !== null, () => true)
    return { pending, isStored: isConfigured && await pendings.add(pending).catch(() => false) }
  }

  async function carryOut (prepared: Prepared): Promise<AtProvider> {
    const work = track(conclude(prepared))
    const patience = new AbortController()
    try {
      return await Promise.race([work, sleep(WAIT_MS, 'later' as const, { signal: patience.signal })])
    } finally {
      patience.abort()
    }
  }

  async function sweep (): Promise<void> {
    const first = Math.floor(Math.random() * LISTS)
    for (let i = 0; i < LISTS; i++) {
      for (;;) {
        if (closed) return
        const claimed = await pendings.claimDue((first + i) % LISTS)
        if (claimed.length === 0) break
        await Promise.all(claimed.map(pending => conclude({ pending, isStored: true })))
      }
    }
  }

  function schedule (): void {
    if (closed) return
    timer = setTimeout(() => {
      track(sweep()).catch(error => log.warn({ err: error }, 'mcp-connect: it could not be looked for grants that are still to be ended at their providers')).then(schedule)
    }, INTERVAL_MS * (0.75 + Math.random() / 2)).unref()
  }

  return {
    prepare: async (principal, provider, grant) => await prepare(principal, provider, grant),
    carryOut,
    abandon: async ({ pending, isStored }) => { if (isStored) await remove(pending) },
    discard: async (principal, provider, grant) => await carryOut(await prepare(principal, provider, grant)),
    async discardLater (principal, provider, grant, name, delayMs) {
      const { pending, isStored } = await prepare(principal, provider, grant, name, delayMs)
      if (!isStored) log.warn({ provider: pending.provider }, 'mcp-connect: a grant waits for its user to say what becomes of it, and will stay at its provider if nobody does')
    },
    keep: async name => await remove({ id: name, claim: name }),
    sweep: async () => await track(sweep()),
    start: schedule,
    async close () {
      closed = true
      clearTimeout(timer)
      await withTimeout(Promise.allSettled(underWay), CLOSE_TIMEOUT_MS).catch(() => {})
    }
  }
}

/** Whether two accounts may be one: of one that a provider does not tell, nobody knows. */
function maySame (a: string | undefined, b: string | undefined): boolean {
  return a === undefined || b === undefined || a === b
}
