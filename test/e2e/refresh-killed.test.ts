/*
 * kill -9 while an access token is refreshed. KILL_ROUNDS=50 is the full run, for each kind of store; KILL_SEED repeats one.
 */
import t, { type Test } from 'tap'
import { setTimeout } from 'node:timers/promises'
import type { ToolAnswer } from '../../examples/demo/terminal-client.js'
import { LEASE_MS } from '../../lib/connections/refreshing.js'
import { hashPrincipal } from '../../lib/principal.js'
import { createFleet, type AppProcess, type Fleet } from '../fixtures/fleet.js'
import { createRandom } from '../fixtures/random.js'
import { createStorage, eternalRows, lastingKinds, type Kind } from '../fixtures/stores.js'
import { TokenLog } from '../fixtures/token-log.js'

const ROUNDS = Number(process.env['KILL_ROUNDS'] ?? 4)
const SEED = Number(process.env['KILL_SEED'] ?? Date.now() % 1_000_000)
const TTL_S = 300
/** A holder who was killed keeps the others waiting for so long, and for as long as it takes them to notice. */
const BOUND_MS = LEASE_MS + 5000
t.setTimeout(600_000 + ROUNDS * 3 * 15_000)

interface Scene {
  readonly fleet: Fleet
  readonly log: TokenLog
  /** The process that lives on. */
  readonly survivor: AppProcess
  /** Whether refresh tokens work once. */
  rotating: boolean
  /** Starts a process for which the tokens have expired. */
  start (): Promise<AppProcess>
}

/** Users who are connected, and whose access tokens have expired. */
async function startExpired (t: Test, kind: Kind, subjects: readonly string[]): Promise<Scene & { readonly eternal: () => Promise<number> }> {
  const { spec } = await createStorage(t, kind)
  const log = new TokenLog()
  const fleet = await createFleet(t, spec, {
    accessTokenTtlSeconds: TTL_S, observe: log.observe, settings: { rotateRefreshToken: () => scene.rotating }
  })
  const start = async (): Promise<AppProcess> => {
    const process = await fleet.start()
    await process.advance(TTL_S * 1000)
    return process
  }
  const survivor = await fleet.start()
  fleet.use(survivor)
  for (const subject of subjects) await connect(fleet, subject)
  fleet.acme.forgetAccessTokens()
  await survivor.advance(TTL_S * 1000)
  const scene = { fleet, log, survivor, rotating: true, start, eternal: () => eternalRows(spec) }
  return scene
}

async function connect (fleet: Fleet, subject: string): Promise<void> {
  const answer = await fleet.callTool(subject)
  if (answer.kind !== 'url') throw new Error(answer.text)
  await (await fleet.browser(subject)).finish(answer.requests[0]!.url)
}

/** A call at a process that is killed before it has answered. @returns whether it was */
async function callAndDie ({ fleet }: Scene, subject: string, process: AppProcess): Promise<boolean> {
  const call = async (): Promise<void> => {
    const client = await fleet.connect(subject, process)
    await client.callTool('issues').finally(() => { client.close().catch(() => {}) })
  }
  const answered = await Promise.race([process.ended.then(() => false), call().then(() => true, () => false)])
  await process.kill()
  return !answered
}

async function callSurvivor ({ fleet, survivor }: Scene, subject: string): Promise<{ answer: ToolAnswer, ms: number }> {
  const begunAt = Date.now()
  const client = await fleet.connect(subject, survivor)
  const answer = await client.callTool('issues')
  await client.close()
  return { answer, ms: Date.now() - begunAt }
}

const works = { kind: 'result', isError: false, text: /"account":"alice@acme\.example"/ }

function told ({ fleet }: Scene, subject: string): string[] {
  const principal = hashPrincipal({ issuer: 'https://login.example.com', subject })
  return fleet.audit.filter(event => event.event.startsWith('refresh.') && 'principal' in event && event.principal === principal).map(({ event }) => event)
}

for (const kind of await lastingKinds(t)) {
  t.test(`REC-09 OAR-24 ${kind}: killed ${ROUNDS} times at random while a token is refreshed (KILL_SEED=${SEED})`, async t => {
    const random = createRandom(SEED)
    const precise = ['alice-lost', 'alice-kept', 'alice-unused']
    const subjects = Array.from({ length: ROUNDS }, (_, round) => `alice-${round}`)
    const scene = await startExpired(t, kind, [...precise, ...subjects])
    const { fleet, log, survivor } = scene
    const counters = { killed: 0, works: 0, asked: 0, longestMs: 0 }
    const after: Array<Promise<unknown>> = []

    /** What the user finds at the process that lives on, at once. */
    function look (subject: string, wasRotating: boolean): Promise<void> {
      const outcome = (async () => {
        const { answer, ms } = await callSurvivor(scene, subject)
        counters.longestMs = Math.max(counters.longestMs, ms)
        t.ok(ms < BOUND_MS, `${subject} waits for ${ms} ms, and not longer than the lease of the dead`)
        if (answer.kind === 'url') {
          counters.asked++
          t.ok(wasRotating, 'only a refresh token that works once can be lost')
          t.strictSame(told(scene, subject), ['refresh.invalid_grant'], `${subject} is asked again, and the log says why`)
          t.match((await callSurvivor(scene, subject)).answer, { kind: 'url' }, 'and is asked until they connect')
          t.strictSame(told(scene, subject), ['refresh.invalid_grant'], 'while the provider is not asked again')
        } else {
          counters.works++
          t.match(answer, works, `${subject} goes on`)
          t.notOk(told(scene, subject).includes('refresh.invalid_grant'))
        }
      })()
      after.push(outcome)
      return outcome
    }

    // Once where it matters: before and after the new grant is in the vault.
    for (const [subject, rotating, isAfter] of [['alice-lost', true, false], ['alice-kept', false, false], ['alice-unused', true, true]] as const) {
      scene.rotating = rotating
      const process = await scene.start()
      await process.light(1, isAfter, 'vault.put')
      const { length } = log.refreshes
      t.ok(await callAndDie(scene, subject, process), `${subject}: killed`)
      t.equal(log.refreshes.length, length + 1, 'after the provider had answered')
      counters.killed++
      t.equal((await fleet.grant(subject))!.version, isAfter ? 1 : 0)
      if (isAfter) {
        // What was stored before it was used is there, and nobody has to wait.
        t.match((await callSurvivor(scene, subject)).answer, works)
        t.equal(log.refreshes.length, length + 1, 'it is not refreshed again')
      }
    }
    look('alice-lost', true).catch(() => {})
    look('alice-kept', false).catch(() => {})

    let next = scene.start()
    for (const [round, subject] of subjects.entries()) {
      const process = await next
      if (round + 1 < ROUNDS) next = scene.start()
      scene.rotating = round % 4 !== 3
      if (round % 2 === 0) {
        log.onRefreshed = () => { setTimeout(20 * random()).then(() => process.kill(), () => {}) }
      } else {
        await process.light(1 + Math.floor(8 * random()), random() < 0.5)
      }
      if (await callAndDie(scene, subject, process)) counters.killed++
      log.onRefreshed = () => {}
      look(subject, scene.rotating).catch(() => {})
    }
    scene.rotating = true
    await Promise.all(after)

    // Whoever was asked connects, and that is that.
    await connect(fleet, 'alice-lost')
    t.match((await callSurvivor(scene, 'alice-lost')).answer, works)
    t.equal(log.refused, fleet.audit.filter(({ event }) => event === 'refresh.invalid_grant').length, 'no refused token was tried again')
    t.equal(await scene.eternal(), 0, 'every record has a lifetime')
    t.comment(`${kind}: ${counters.killed} kills; ${counters.works} grants went on, ${counters.asked} users were asked again; ` +
      `${log.succeeded} refreshes, ${log.refused} refused; nobody waited for longer than ${counters.longestMs} ms`)
    await survivor.kill()
  })
}
