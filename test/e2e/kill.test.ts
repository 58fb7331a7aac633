/*
 * kill -9 at random points of the flow. KILL_ROUNDS=100 is the full run, for each kind of store; KILL_SEED repeats one.
 */
import t, { type Test } from 'tap'
import { HOLD_MS } from '../../lib/elicitation/elicitations.js'
import { hashPrincipal } from '../../lib/principal.js'
import { acmeLoginOf, createFleet, type AppProcess, type Fleet, type UserBrowser } from '../fixtures/fleet.js'
import { createRandom } from '../fixtures/random.js'
import { createStorage, eternalRows, lastingKinds, openStore } from '../fixtures/stores.js'

const ROUNDS = Number(process.env['KILL_ROUNDS'] ?? 3)
const SEED = Number(process.env['KILL_SEED'] ?? Date.now() % 1_000_000)
t.setTimeout(120_000 + ROUNDS * 3 * 15_000)

/**
 * A user's way to a connection, until the process that serves it is killed: an MCP client would wait a minute for the answer
 * that does not come, and nobody waits for that here.
 * @returns the link, if the user got that far
 */
async function tryToConnect (fleet: Fleet, subject: string, { ended }: AppProcess): Promise<string | undefined> {
  let link: string | undefined
  const over = new AbortController()
  const step = async <T>(work: Promise<T>): Promise<T> => {
    const result = await work
    over.signal.throwIfAborted()
    return result
  }
  async function connect (): Promise<void> {
    const answer = await step(fleet.callTool(subject, over.signal))
    if (answer.kind !== 'url') throw new Error(answer.text)
    link = answer.requests[0]!.url
    const browser = await step(fleet.browser(subject))
    const page = await step(browser.open(link))
    const callback = await step(browser.start(page))
    await browser.open(callback.href)
  }
  // As the user sees it: no answer.
  await Promise.race([connect().catch(() => {}), ended])
  over.abort()
  return link
}

/** What the user can do now. @returns whether they are connected; not yet, while an attempt that was killed still holds the link */
async function connectAgain (t: Test, fleet: Fleet, subject: string, browser: UserBrowser): Promise<boolean> {
  const connected = { kind: 'result', isError: false, text: new RegExp(`"${acmeLoginOf(subject)}"`) }
  const answer = await fleet.callTool(subject)
  if (answer.kind === 'result') {
    t.match(answer, connected, `${subject} is connected, with their own account`)
    return true
  }
  const page = await browser.finish(answer.requests[0]!.url)
  if (page.status === 409 && /being finished/.test(page.html)) return false
  t.match(page, { status: 200, url: { pathname: /\/done$/ } }, `${subject} can connect`)
  t.match(await fleet.callTool(subject), connected)
  return true
}

for (const kind of await lastingKinds(t)) {
  t.test(`REC-04 ${kind}: killed ${ROUNDS} times at random points of the flow (KILL_SEED=${SEED})`, async t => {
    const random = createRandom(SEED)
    const { spec } = await createStorage(t, kind)
    const fleet = await createFleet(t, spec)
    const users: string[] = []

    // One flow that nobody kills, to know how many calls and how much time there are.
    let current: AppProcess = await fleet.start()
    fleet.use(current)
    const many = 1_000_000
    await current.light(many, false)
    const begunAt = Date.now()
    await tryToConnect(fleet, 'alice-first', current)
    const durationMs = Date.now() - begunAt
    const calls = many - await current.light(many, false)
    users.push('alice-first')

    let usable = 0
    let held = 0
    let next = fleet.start()
    for (let round = 0; round < ROUNDS; round++) {
      // Two at once, so that one could get what is the other's.
      const pair = [`alice-${round}`, `bob-${round}`]
      users.push(...pair)
      let timer: NodeJS.Timeout | undefined
      if (round % 3 === 2) timer = setTimeout(() => { current.kill().catch(() => {}) }, random() * durationMs)
      else await current.light(1 + Math.floor(random() * pair.length * calls), round % 3 === 1)
      const links = await Promise.all(pair.map(subject => tryToConnect(fleet, subject, current)))
      clearTimeout(timer)
      await current.kill()
      current = await next
      fleet.use(current)
      next = fleet.start()

      const waiting: Array<() => Promise<boolean>> = []
      for (const [i, subject] of pair.entries()) {
        const browser = await fleet.browser(subject)
        const link = links[i]
        if (link !== undefined) {
          const { status } = await browser.open(link)
          t.ok([200, 409].includes(status), `the link is pending or finished, and not unknown: ${status}`)
          usable++
        }
        if (!await connectAgain(t, fleet, subject, browser)) waiting.push(() => connectAgain(t, fleet, subject, browser))
      }
      held += waiting.length
      if (waiting.length > 0) await current.advance(HOLD_MS)
      for (const connect of waiting) t.ok(await connect(), 'a hold of a killed attempt runs out')
      await current.advance(0)     // what it holds when it is killed in turn is of now
    }
    const { store, close } = await openStore(spec)
    const { entries } = await store.vault.list({ limit: 1000 })
    await store.close()
    await close()
    const owners = users.map(subject => hashPrincipal({ issuer: 'https://login.example.com', subject }))
    t.strictSame(entries.map(({ owner }) => owner).sort(), owners.sort(), 'each user has one grant, and nobody else has any')
    t.match(await fleet.callTool('stranger'), { kind: 'url' })
    t.equal(await eternalRows(spec), 0, 'every record has a lifetime')

    const attemptsOf = (event: string): string[] => fleet.audit.filter(audit => audit.event === event).map(audit => 'attempt' in audit ? audit.attempt : '')
    const started = attemptsOf('exchange.started')
    const ended = new Set([...attemptsOf('exchange.stored'), ...attemptsOf('exchange.refused')])
    const open = started.filter(attempt => !ended.has(attempt))
    const orphans = fleet.acme.tokenRequests - users.length
    t.ok(started.length >= fleet.acme.tokenRequests, 'what is redeemed is said before')
    t.ok(open.length >= orphans, `${orphans} grants that are stored nowhere, ${open.length} attempts that the log says may have left one`)
    t.equal(held, new Set(attemptsOf('exchange.orphan_possible')).size, 'who takes over from a killed attempt says so')
    t.comment(`${kind}: ${ROUNDS} kills, ${calls} calls of the store and ${durationMs} ms a flow; ${usable} links had been handed out; ` +
      `${held} were held by a killed attempt; ${open.length} exchanges without an end in the log, ${orphans} grants orphaned`)
    await (await next).kill()
  })
}
