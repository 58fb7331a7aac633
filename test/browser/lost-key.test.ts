import { randomBytes } from 'node:crypto'
import t from 'tap'
import { memoryStore } from '../../lib/index.js'
import { A, startServer } from '../fixtures/server.js'

t.test('VLT-11 a key that was taken out: said to the operator, and the user can connect again', async t => {
  const store = memoryStore()
  const [oldKey, newKey] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')]
  const before = await startServer(t, { store, keys: [oldKey] })
  const { url } = await before.elicit(A)
  const browser = before.browser(A)
  await browser.get((await before.untilCallback(browser, url)).href)

  const { entries } = await store.vault.list({ limit: 10 })
  const row = await store.vault.get(entries[0]!.owner, entries[0]!.name)
  const waiting = await before.elicit(A, { scopes: ['issues:write'] })
  const lost = await startServer(t, { at: before.acme, store, keys: [newKey] })
  t.equal((await lost.browser(A).get(waiting.url)).statusCode, 404, 'what was under way is gone')
  t.match(lost.log.join(''), /"level":40.*counts as not begun.*is not in the keys option/)
  t.match((await lost.browser(A).get('/connect')).body, 'what is stored can no longer be read')
  t.match(lost.log.join(''), /"level":50.*vault.decrypt_failed.*"provider":"acme".*"code":"FST_MCP_CONNECT_SEAL_BROKEN"/, 'said on the page alone, too')
  lost.log.length = 0
  const session = await lost.openSession({ user: A, scopes: ['issues:write'] })
  t.match(await session.client.callTool({ name: 'issues' }), { isError: true, content: [{ text: /cannot be read at the moment.*\/connect/ }] })
  t.match(lost.log.join(''), `its key (id ${row!.value.split('.')[1]}) is not in the keys option`)
  t.strictSame(await store.vault.get(entries[0]!.owner, entries[0]!.name), row, 'the row is kept')

  const user = lost.browser(A)
  const { location } = (await user.press('/connect', '/acme/connect')).headers
  t.match((await user.get(String(location))).body, /issues:read.*issues:write/s, 'for what the tool needs')
  t.equal((await user.get((await lost.untilCallback(user, String(location))).href)).statusCode, 303)
  t.match(await session.client.callTool({ name: 'issues' }), { content: [{ text: /rabbit hole/ }] })
  await user.press('/connect', '/acme/disconnect')
  await t.rejects(session.client.callTool({ name: 'issues' }), { code: -32042 })
  t.equal(lost.log.filter(line => line.includes('counts as not begun')).length, 0, 'said once')
})
