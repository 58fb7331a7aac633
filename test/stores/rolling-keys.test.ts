import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import type { BrowserUser, Store } from '../../lib/index.js'
import type { McpSession } from '../fixtures/mcp-session.js'
import { A, startServer, type TestServer } from '../fixtures/server.js'
import { createStorage, lastingKinds } from '../fixtures/stores.js'

t.setTimeout(400_000)

const [oldKey, newKey] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')]
const users = Array.from({ length: 12 }, (_, i): BrowserUser => ({ ...A, subject: `user-${i}` }))

async function connect (server: TestServer, user: BrowserUser): Promise<void> {
  const { url } = await server.elicit(user)
  const browser = server.browser(user)
  const { statusCode } = await browser.get((await server.untilCallback(browser, url)).href)
  if (statusCode !== 303) throw new Error(`not connected: ${statusCode}`)
}

interface Load {
  /** Settles once everything has been called that runs now, and nothing is called any longer that does not. */
  round (): Promise<void>
  /** @returns how many calls there were */
  stop (): Promise<number>
}

/** Calls the tool as every user, again and again. A call that fails fails the test. */
function startLoad (t: Test, servers: () => readonly TestServer[]): Load {
  const stopped = new AbortController()
  const sessions = new Map<TestServer, McpSession[]>()
  let calls = 0
  let round = Promise.resolve()
  async function callAll (): Promise<void> {
    for (const server of servers()) {
      if (!sessions.has(server)) sessions.set(server, await Promise.all(users.map(user => server.openSession({ user }))))
      const results = await Promise.all(sessions.get(server)!.map(({ client }) => client.callTool({ name: 'issues' })))
      calls += results.length
      if (!results.every(result => JSON.stringify(result).includes('rabbit hole'))) t.fail(JSON.stringify(results[0]))
    }
  }
  const work = (async () => {
    while (!stopped.signal.aborted) {
      round = callAll()
      await round
    }
  })()
  return {
    async round () {
      await round
      await round
    },
    async stop () {
      stopped.abort()
      await work
      return calls
    }
  }
}

for (const kind of await lastingKinds(t)) {
  t.test(`VLT-09 ${kind}: keys are rolled over two processes under load without a failed call`, async t => {
    const storage = await createStorage(t, kind)
    const start = async (keys: string[], at?: TestServer['acme']): Promise<TestServer> => {
      const store: Store = { ...await storage.open(), close: async () => {} }
      return await startServer(t, { store, keys, ...at !== undefined && { at } })
    }
    const first = await start([oldKey])
    const { acme } = first
    for (const user of users) await connect(first, user)
    const running = [first, await start([oldKey], acme)]
    const load = startLoad(t, () => running)
    const replace = async (i: number, ...keys: string[]): Promise<void> => {
      const [old] = running.splice(i, 1, await start(keys, acme))
      await load.round()
      await old!.app.close()
    }

    // 1: the new key opens everywhere, and seals nowhere.
    for (const i of [0, 1]) await replace(i, oldKey, newKey)
    // 2: it seals, first in one process; what that one has sealed, the other one opens.
    await replace(0, newKey, oldKey)
    t.match(await running[0]!.app.mcpConnect.reseal(), { entries: 12, unreadable: {} })
    await replace(1, newKey, oldKey)
    // 3: now that every process seals with it, the rest is sealed anew, and a dry run says that the old key can go.
    await running[1]!.app.mcpConnect.reseal()
    t.strictSame(await running[0]!.app.mcpConnect.reseal({ dryRun: true }), { entries: 12, current: 12, resealed: 0, unreadable: {} })
    for (const i of [0, 1]) await replace(i, newKey)
    t.ok(await load.stop() > 12 * running.length)
  })
}
