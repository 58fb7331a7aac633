import t from 'tap'
import { memoryStore, type StateStore, type Stored } from '../../lib/index.js'
import { A, startServer } from '../fixtures/server.js'

t.test('REC-15 a replica that lags behind: nothing is consumed twice', async t => {
  const store = memoryStore()
  const earlier = new Map<string, Stored | null>()
  let lagging = false
  // Every second look gives what was there before the last change.
  let looks = 0
  const state: StateStore = {
    ...store.state,
    get: async key => lagging && looks++ % 2 === 0 && earlier.has(key) ? earlier.get(key)! : await store.state.get(key),
    async put (key, ...rest) {
      const before = await store.state.get(key)
      const revision = await store.state.put(key, ...rest)
      if (revision !== null) earlier.set(key, before)
      return revision
    }
  }
  const server = await startServer(t, { store: { ...store, state } })
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  const callback = await server.untilCallback(browser, url)
  lagging = true
  const statuses = (await Promise.all(Array.from({ length: 20 }, () => browser.get(callback.href)))).map(({ statusCode }) => statusCode)
  for (let i = 0; i < 20; i++) statuses.push((await browser.get(callback.href)).statusCode)
  t.ok(statuses.filter(status => status === 303).length <= 1, 'at most one has won')
  t.ok(server.acme.tokenRequests <= 1, 'the code was sent once at most')
  t.strictSame(statuses.filter(status => status === 500), [])
  lagging = false
  if (server.acme.tokenRequests === 0) t.equal((await browser.get(callback.href)).statusCode, 303, 'nobody was locked out')
  t.equal(server.acme.tokenRequests, 1)
  t.equal((await store.vault.list({ limit: 10 })).entries.length, 1)
})
