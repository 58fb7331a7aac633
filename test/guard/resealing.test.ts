import t from 'tap'
import { A, startServer } from '../fixtures/server.js'

t.test('a grant that another process seals anew while a call is decided has not changed: the link is handed out', async t => {
  const server = await startServer(t)
  const { url } = await server.elicit(A)
  const browser = server.browser(A)
  t.equal((await browser.get((await server.untilCallback(browser, url)).href)).statusCode, 303)
  // As with resealing, the value is another one with each look, and says the same.
  const { get } = server.store.vault
  let looks = 0
  t.intercept(server.store.vault, 'get', {
    value: async (owner: string, name: string) => {
      const stored = await get(owner, name)
      return stored === null ? null : { ...stored, revision: `${stored.revision}-${++looks}` }
    }
  })
  const { id } = await server.elicit(A, { scopes: ['issues:write'] })
  t.match(id, /^[\w-]{43}$/)
  t.ok(looks > 1)
})
