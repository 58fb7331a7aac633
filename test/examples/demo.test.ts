import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startAuthorizationServer } from '../../examples/demo/authorization-server.js'
import { portOf, reservePort } from '../../examples/demo/ports.js'
import { startDemo } from '../../examples/demo/start.js'
import { tellStory } from '../../examples/demo/story.js'
import { memoryStore } from '../../lib/index.js'

t.setTimeout(400_000)

/** Whether nobody listens on it. */
async function isFree (port: number): Promise<boolean> {
  try {
    await (await reservePort(port)).release()
    return true
  } catch {
    return false
  }
}

/** @returns what a run says */
async function run (database: string): Promise<string> {
  const lines: string[] = []
  const demo = await startDemo({ database })
  try {
    await tellStory(demo, { auto: true, signal: new AbortController().signal, say: line => { lines.push(line) } })
  } finally {
    await demo.close()
  }
  return lines.join('\n')
}

t.test('the demo finds its connection again on a second run', async t => {
  const database = join(t.testdir(), 'demo.db')
  const first = await run(database)
  t.match(first, /"code": -32042/)
  t.match(first, /elicitation\/complete/)
  const second = await run(database)
  t.notMatch(second, /-32042/)
  t.match(second, /in an earlier run/)
  t.match(second, /rabbit hole/)
})

t.test('an authorization server whose database is none leaves no server behind', async t => {
  const { port, release } = await reservePort(0)
  await release()
  const database = join(t.testdir(), 'demo.db')
  writeFileSync(database, 'no database '.repeat(1000))
  await t.rejects(startAuthorizationServer({ site: { name: 'Acme', color: 'red' }, people: [], scopes: {}, port, database }), /not a database/)
  t.ok(await isFree(port))
})

t.test('one part of the demo that fails to close leaves no other one open', async t => {
  const store = { ...memoryStore(), close: async () => { throw new Error('not closed') } }
  const demo = await startDemo({ connect: { store } })
  await t.rejects(demo.close(), { message: 'not closed' })
  for (const url of [demo.baseUrl, demo.authorizationServer.issuer, demo.acme.issuer, demo.acme.apiOrigin]) t.ok(await isFree(portOf(url)), url)
})
