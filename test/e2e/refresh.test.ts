/*
 * Eight processes that share a grant whose access tokens live for two seconds. REFRESH_SECONDS=30 is the full run, for each kind of store.
 */
import t from 'tap'
import { createFleet } from '../fixtures/fleet.js'
import { createStorage, lastingKinds } from '../fixtures/stores.js'
import { TokenLog } from '../fixtures/token-log.js'

const SECONDS = Number(process.env['REFRESH_SECONDS'] ?? 6)
const PROCESSES = 8
const CALLERS = 2
const TTL_S = 2
/** From when on a token is refreshed ahead of its expiry, at the earliest: it is used for nine tenths of its life, less a fifth. */
const DUE_MS = TTL_S * 1000 * (9 / 10 - 1 / 5)
t.setTimeout(120_000 + 3 * SECONDS * 1000)

for (const kind of await lastingKinds(t)) {
  t.test(`REC-08 ${kind}: ${PROCESSES} processes, ${SECONDS} s of calls with tokens of ${TTL_S} s and refresh tokens that work once`, async t => {
    const { spec } = await createStorage(t, kind)
    const log = new TokenLog()
    const fleet = await createFleet(t, spec, { accessTokenTtlSeconds: TTL_S, observe: log.observe })
    const first = await fleet.start()
    const others = await Promise.all(Array.from({ length: PROCESSES - 1 }, () => fleet.start()))
    fleet.use(first)
    const answer = await fleet.callTool('alice')
    if (answer.kind !== 'url') throw new Error(answer.text)
    await (await fleet.browser('alice')).finish(answer.requests[0]!.url)
    const apiRequests = fleet.acme.apiRequests

    const outcomes = await Promise.all([first, ...others].map(process => process.call('alice', CALLERS, SECONDS * 1000)))
    await Promise.all([first, ...others].map(process => process.stop()))

    const failed = outcomes.flatMap(Object.keys).filter(outcome => !/^\{"account":"alice@acme\.example"/.test(outcome))
    t.strictSame(failed, [], 'no call has failed')
    const calls = outcomes.flatMap(Object.values).reduce((sum, count) => sum + count, 0)
    t.equal(log.reused, 0, 'no refresh token was used twice')
    t.equal(log.refused, 0, 'none was refused')
    const stored = await fleet.grant('alice')
    t.equal(log.succeeded, stored?.version, 'what was given is what was stored, one after another')

    const lives = log.issued.slice(1).map((at, i) => at - log.issued[i]!)
    t.strictSame(lives.filter(ms => ms < DUE_MS), [], 'no two refreshes in the life of one token')
    t.ok(log.succeeded >= Math.floor(SECONDS / TTL_S / 2), 'and there were some')
    const told = (event: string): number => fleet.audit.filter(audit => audit.event === event).length
    t.equal(told('refresh.ok'), log.succeeded)
    t.strictSame([...new Set(fleet.audit.map(({ event }) => event))].filter(event => event.startsWith('refresh.')), ['refresh.ok'])
    t.comment(`${kind}: ${PROCESSES} processes, ${calls} calls in ${SECONDS} s, ${failed.length} failed; ${log.succeeded} refreshes, ${log.refused} refused, ` +
      `${log.reused} with a used token; ${Math.min(...lives)} to ${Math.max(...lives)} ms between them; ${fleet.acme.apiRequests - apiRequests - calls} calls were repeated after a 401`)
  })
}
