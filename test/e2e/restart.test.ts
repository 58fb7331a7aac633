import t from 'tap'
import { createFleet, type Fleet, type UserBrowser } from '../fixtures/fleet.js'
import { createStorage, lastingKinds } from '../fixtures/stores.js'

t.setTimeout(400_000)

/** Alice comes back from Acme, and waits at the redirection endpoint. */
async function untilCallback (fleet: Fleet): Promise<{ browser: UserBrowser, callback: URL }> {
  const answer = await fleet.callTool('alice')
  if (answer.kind !== 'url') throw new Error(answer.text)
  const browser = await fleet.browser('alice')
  return { browser, callback: await browser.start(await browser.open(answer.requests[0]!.url)) }
}

for (const kind of await lastingKinds(t)) {
  for (const end of ['stop', 'kill'] as const) {
    t.test(`STA-15 ${kind}: a restart (${end}) between start and callback`, async t => {
      const fleet = await createFleet(t, (await createStorage(t, kind)).spec)
      const before = await fleet.start()
      fleet.use(before)
      const { browser, callback } = await untilCallback(fleet)
      await before[end]()
      fleet.use(await fleet.start())
      const page = await browser.open(callback.href)
      t.match(page.url.pathname, /\/done$/)
      t.equal(page.status, 200)
      t.match(await fleet.callTool('alice'), { kind: 'result', isError: false, text: /alice@acme\.example/ })
      t.equal(fleet.acme.tokenRequests, 1)
    })
  }
}

t.test('STA-15 memory: a restart is a clean 400', async t => {
  const fleet = await createFleet(t, { kind: 'memory' })
  const before = await fleet.start()
  fleet.use(before)
  const { browser, callback } = await untilCallback(fleet)
  await before.stop()
  fleet.use(await fleet.start())
  t.match(await browser.open(callback.href), { status: 400, title: /.+/ })
  t.equal(fleet.acme.tokenRequests, 0)
})
