import t, { type Test } from 'tap'
import type { ToolAnswer } from '../../examples/demo/terminal-client.js'
import { createFleet, type Fleet, type AppProcess } from '../fixtures/fleet.js'
import { createStorage, lastingKinds, openStore, type Kind } from '../fixtures/stores.js'

t.setTimeout(400_000)

interface Pair {
  readonly fleet: Fleet
  readonly one: AppProcess
  readonly other: AppProcess
  /** How many grants there are. */
  grants (): Promise<number>
}

async function startPair (t: Test, kind: Kind): Promise<Pair> {
  const { spec } = await createStorage(t, kind)
  const fleet = await createFleet(t, spec)
  const [one, other] = await Promise.all([fleet.start(), fleet.start()])
  return {
    fleet,
    one,
    other,
    async grants () {
      const { store, close } = await openStore(spec)
      const { entries } = await store.vault.list({ limit: 100 })
      await store.close()
      await close()
      return entries.length
    }
  }
}

function linkOf (answer: ToolAnswer): { url: string, elicitationId: string } {
  if (answer.kind !== 'url') throw new Error(`the tool answered: ${answer.text}`)
  return answer.requests[0]!
}

for (const kind of await lastingKinds(t)) {
  t.test(`${kind}: each step of a flow at the other process, and completion is told across`, async t => {
    const { fleet, one, other, grants } = await startPair(t, kind)
    const client = await fleet.connect('alice', one)
    t.teardown(() => client.close())
    const { url, elicitationId } = linkOf(await client.callTool('issues'))
    const completed = client.completed(elicitationId, { timeoutMs: 60_000 })

    fleet.use(other)
    const browser = await fleet.browser('alice')
    const page = await browser.open(url)
    fleet.use(one)
    const callback = await browser.start(page)
    fleet.use(other)
    const done = await browser.open(callback.href)
    t.match(done.url.pathname, /\/done$/)
    fleet.use(one)
    t.equal((await browser.open(done.url.href)).status, 200)

    await completed
    t.match(await client.callTool('issues'), { kind: 'result', isError: false, text: /alice@acme\.example/ })
    fleet.use(other)
    t.match(await fleet.callTool('alice'), { kind: 'result', isError: false, text: /alice@acme\.example/ })
    t.match(await fleet.callTool('bob'), { kind: 'url' }, 'nobody else is connected')
    t.equal(await grants(), 1)
  })

  t.test(`REC-07 ${kind}: 20 callbacks at once, at two processes`, async t => {
    const { fleet, one, other, grants } = await startPair(t, kind)
    fleet.use(one)
    const { url } = linkOf(await fleet.callTool('alice'))
    const browser = await fleet.browser('alice')
    const callback = await browser.start(await browser.open(url))
    const pages = await Promise.all(Array.from({ length: 20 }, async (_, i) => {
      fleet.use(i % 2 === 0 ? one : other)
      return await browser.open(callback.href)
    }))
    t.equal(pages.filter(({ url }) => url.pathname.endsWith('/done')).length, 1)
    t.strictSame(pages.filter(({ status }) => ![200, 409].includes(status)).map(({ status }) => status), [])
    t.equal(fleet.acme.tokenRequests, 1)
    t.equal(await grants(), 1)
    const told = fleet.audit.map(({ event }) => event)
    for (const event of ['exchange.started', 'exchange.stored', 'vault.written', 'elicitation.completed']) t.equal(told.filter(name => name === event).length, 1, `${event}, once`)
    t.equal(told.filter(name => name.startsWith('exchange.')).length, 2)
  })
}
