/*
 * REFRESH_CALLS says how many calls come at once; a thousand keep a small machine busy for longer than it waits for a store, once others want it too.
 */
import t, { type Test } from 'tap'
import { createFleet, type AppProcess, type Fleet, type Outcomes } from '../fixtures/fleet.js'
import { createStorage, lastingKinds, type Kind } from '../fixtures/stores.js'
import { TokenLog } from '../fixtures/token-log.js'

t.setTimeout(400_000)

const TTL_S = 300
const CALLS = Number(process.env['REFRESH_CALLS'] ?? 1000)

/** Processes that share alice's grant. */
async function startConnected (t: Test, kind: Kind, processes: number): Promise<{ fleet: Fleet, log: TokenLog, running: readonly AppProcess[] }> {
  const { spec } = await createStorage(t, kind)
  const log = new TokenLog()
  const fleet = await createFleet(t, spec, { accessTokenTtlSeconds: TTL_S, observe: log.observe })
  const running = await Promise.all(Array.from({ length: processes }, () => fleet.start()))
  fleet.use(running[0]!)
  const answer = await fleet.callTool('alice')
  if (answer.kind !== 'url') throw new Error(answer.text)
  await (await fleet.browser('alice')).finish(answer.requests[0]!.url)
  return { fleet, log, running }
}

function sum (outcomes: readonly Outcomes[]): Outcomes {
  const all: Outcomes = {}
  for (const [outcome, count] of outcomes.flatMap(Object.entries) as Array<[string, number]>) all[outcome] = (all[outcome] ?? 0) + count
  return all
}

for (const kind of await lastingKinds(t)) {
  t.test(`REC-08 ${kind}: many calls at once on an expired token: one refresh, in one process and across four`, async t => {
    const { fleet, log, running } = await startConnected(t, kind, 4)
    let passed = 0
    for (const [processes, calls] of [[1, CALLS], [4, CALLS / 4], [2, 25]] as const) {
      // To the processes that are there it has expired, and the API takes it no longer.
      passed += TTL_S * 1000
      await Promise.all(running.map(process => process.advance(passed)))
      fleet.acme.forgetAccessTokens()
      const { length: before } = log.refreshes
      const begunAt = Date.now()
      const outcomes = sum(await Promise.all(running.slice(0, processes).map(process => process.call('alice', calls))))
      const ms = Date.now() - begunAt
      t.strictSame(Object.keys(outcomes).filter(outcome => !/^\{"account":"alice@acme\.example"/.test(outcome)), [], 'no call has failed')
      t.strictSame(Object.values(outcomes), [processes * calls])
      t.equal(log.refreshes.length - before, 1, `${calls} calls in each of ${processes} processes: one refresh`)
      t.comment(`${kind}: ${processes} × ${calls} calls, ${log.refreshes.length - before} refresh, ${ms} ms`)
    }
    t.equal(log.refused, 0)
    t.equal((await fleet.grant('alice'))?.version, 3)
  })
}
