import { mutationsOf } from './mutation.js'

const REFRESHING = ['test/connections/refreshing.test.ts']
const RENEWING = ['test/connections/renewing.test.ts']

export const leases = mutationsOf('lib/state/leases.ts', REFRESHING,
  { name: 'two hold one lease', find: 'if (revision === null) return null\n      return {', replace: 'return {' },
  { name: 'a lease seems to last for ever', find: 'lasts: ms => takenAt + ttlMs - performance.now() > ms', replace: 'lasts: () => true' },
  { name: 'a lease that was lost is extended', find: 'return revision !== null\n', replace: 'takenAt = now\n          return true\n' },
  { name: 'a lease is not given back', find: 'if (revision !== null) await records.delete(key, revision)', replace: '' }
)

export const connections = [
  ...mutationsOf('lib/connections/refreshing.ts', REFRESHING,
    { name: 'each caller refreshes', find: 'if (running !== undefined) return running', replace: '' },
    { name: 'nobody waits for another process', find: 'if (lease !== null) {', replace: 'if (lease === null) return later()\n      if (lease !== null) {' },
    { name: 'who has got the lease does not look what there is now', find: 'if (isSettled(now, seen)) return outcomeOf(now)\n    if (!lease', replace: 'if (!lease' },
    { name: 'what others have stored is used, expired or not', find: "(freshnessOf(now) !== 'expired' || now.grant.refreshToken === undefined)", replace: 'true' },
    { name: 'a holder that was kept waiting asks without a lease', find: 'if (!lease.lasts(REQUEST_MS) && !(await lease.extend() && lease.lasts(REQUEST_MS))) return later()', replace: '' },
    { name: 'a holder that was kept waiting gives up', find: ' && !(await lease.extend() && lease.lasts(REQUEST_MS))', replace: '' },
    { name: 'a lost race is what the provider has given', find: 'else if (now === null) await services.discard(place, grant)\n      return outcomeOf(now)', replace: "return { kind: 'fresh', stored: { ...seen, grant, version: seen.version + 1, obtainedAt } }" },
    { name: 'what nobody asks for any longer is not taken back', find: 'else if (now === null) await services.discard(place, grant)', replace: '' },
    { name: 'a grant that could not be stored is given up', find: 'error instanceof Class) || delayMs === undefined', replace: 'error instanceof Class) || delayMs !== undefined' },
    { name: 'the lease may end while an answer is stored', find: 'if (!lease.lasts(STORE_MS)) await lease.extend().catch(() => {})\n', replace: '\n' },
    { name: 'a vault that is contended loses a grant', find: '[AdapterFailedError, StoreContentionError, SealBrokenError]', replace: '[AdapterFailedError, SealBrokenError]' },
    { name: 'a grant that is lost is not told', find: "audit('refresh.unsaved', facts, { err: error })", replace: '' },
    { name: 'invalid_grant is believed, whatever is stored', find: "    if (!changed) {\n      audit('refresh.lost_race', { ...auditIdsOf(principal), provider })\n      return outcomeOf(now)\n    }\n", replace: '' },
    { name: 'a dead grant is tried again', find: 'hasEnded(stored, place.provider)', replace: 'hasEnded({ id: stored.id, version: stored.version, grant: stored.grant, issuer: stored.issuer, clientId: stored.clientId, connectedAt: 0, obtainedAt: stored.obtainedAt }, place.provider)', also: [{ find: 'now === null || now.deadAt !== undefined ||', replace: 'now === null ||' }] },
    { name: 'the operator is told with each failure', find: "kind === 'misregistered' && !told.has(registrationOf(provider))", replace: "kind === 'misregistered'" },
    { name: 'the operator is told once and for all', find: 'told.delete(registrationOf(provider))', replace: '' },
    { name: 'pauses grow for ever', find: 'await pauses.end(leaseKey(seen)).catch(() => {})', replace: '' },
    { name: 'a pause is not kept', find: 'if (paused !== null) return paused', replace: '' },
    { name: 'a token that is due is waited for', find: 'mayRefresh(stored, place.provider)) start', replace: 'mayRefresh(stored, place.provider)) await start' },
    { name: 'a token that is due is not refreshed', find: "freshness === 'due' &&", replace: "freshness === 'never' as string &&" },
    { name: 'close waits for nothing', find: 'await withTimeout(Promise.allSettled(underWay.values()), CLOSE_TIMEOUT_MS).catch(() => {})', replace: '' },
    { name: 'a refresh begins while the application closes', find: 'if (closing.signal.aborted) return Promise.resolve(later())', replace: '' },
    { name: 'a token is renewed with each 401', find: 'isNew || !mayRefresh', replace: '!mayRefresh', tests: RENEWING }
  ),
  ...mutationsOf('lib/connections/connection.ts', RENEWING,
    { name: 'a 401 is the end', find: 'response.status !== 401 ||', replace: 'response.status > 0 ||' },
    { name: 'a body that is used up is sent again', find: 'if (!repeatable) {', replace: 'if (sends === 9) {' },
    { name: 'after a request that cannot be sent twice nothing is renewed', find: 'renew(used).catch(() => {})', replace: '' },
    { name: 'what another process had got is not renewed', find: 'const MAX_SENDS = 3', replace: 'const MAX_SENDS = 2' },
    { name: 'a request is sent again with the same token', find: "fresh.kind === 'fresh' && fresh.stored.version === refused.version ? null : take(fresh)", replace: 'take(fresh)' },
    { name: 'a handle keeps its first token', find: 'latest = fresh.stored\n    return latest', replace: 'return fresh.stored' }
  ),
  ...mutationsOf('lib/connections/freshness.ts', REFRESHING,
    { name: 'a refresh token goes out with credentials of another registration', find: ' && clientId === registration.clientId', replace: '' },
    { name: 'a grant that the provider has ended is shown as connected', find: 'stored.deadAt !== undefined || (', replace: '(', tests: ['test/browser/pages.test.ts'] },
    { name: 'an access token that can be renewed is the end of its grant', find: ' && !mayRefresh(stored, registration)', replace: '' },
    { name: 'a token without a refresh token ends early', find: 'if (refreshToken === undefined) return', replace: 'if (refreshToken === null as unknown) return' },
    { name: 'a token is used beyond its end', find: "if (endsAt <= now) return 'expired'", replace: '' },
    { name: 'no token is ever due', find: "<= now ? 'due' : 'fresh'", replace: "<= now ? 'fresh' : 'fresh'" }
  ),
  ...mutationsOf('lib/connections/pauses.ts', REFRESHING,
    { name: 'Retry-After is not kept', find: 'Math.max(retryAfterMs ?? 0, ', replace: 'Math.max(0, ' },
    { name: 'each pause is as long as the first', find: '2 ** failures', replace: '1' },
    { name: 'a pause lasts for ever', find: 'restMs <= 0 || ', replace: '' },
    { name: 'a registration that is not accepted is tried at once', find: "if (kind === 'misregistered') return MISREGISTERED_MS", replace: '' }
  ),
  ...mutationsOf('lib/connections/connections.ts', REFRESHING,
    { name: 'an entry that cannot be read counts as gone', find: '        if (error !== null) throw error\n', replace: '', tests: ['test/connections/connections.test.ts'] },
    { name: 'what the same account had before is ended', find: ' && !isSameAccount(one.grant.account, grant.account)) ??', replace: ') ??', tests: ['test/browser/deciding.test.ts'] },
    { name: 'a grant is changed that somebody else has changed', find: ' || !isSameVersion(now, read)) return null', replace: ') return null' }
  )
]
