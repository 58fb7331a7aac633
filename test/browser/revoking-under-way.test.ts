import t from 'tap'
import { title } from '../fixtures/browser.js'
import { advance } from '../fixtures/clock.js'
import { api, startEnding } from '../fixtures/ending-server.js'
import { pause, pauseTokenAnswer } from '../fixtures/pause.js'
import { A } from '../fixtures/server.js'

t.test('a refresh in flight while its user disconnects is undone, at the provider too', async t => {
  for (const how of ['page', 'operator', 'removePrincipal'] as const) {
    const { server, fake, connect, run, told, revoked } = await startEnding(t)
    const browser = await connect(A)
    await t.test(how, async t => {
      advance(t, 3_600_000 - 1)
      const { reached, resume } = pauseTokenAnswer(t)
      const call = run(A, api(fake)).then(String, String)
      await reached
      t.equal(fake.counts.refreshes, 1)
      if (how === 'page') await browser.press('/connect', '/acme/disconnect')
      else if (how === 'operator') await server.app.mcpConnect.disconnect(A, 'acme')
      else await server.app.mcpConnect.removePrincipal(A)
      resume()
      t.match(await call, /URL|connect/i)
      t.equal(await server.vaultRows(), '[]')
      t.ok(server.audit.some(({ event }) => event === 'refresh.lost_race'))
      t.strictSame(told(), ['revocation.done', 'revocation.done'])
      t.equal(new Set(revoked()).size, 4, 'the old tokens, and the new ones')
    })
  }
})

t.test('a callback under way does not come back, and what it has brought is ended', async t => {
  for (const how of ['operator', 'tool', 'removePrincipal'] as const) {
    const { server, fake, connect, run, untilCallback, told } = await startEnding(t)
    const browser = await connect(A)
    const again = String((await browser.press('/connect', '/acme/connect')).headers.location)
    const callback = await untilCallback(browser, again)
    await t.test(how, async t => {
      const { reached, resume } = pause(t, server.store.vault, 'put')
      const answer = browser.get(callback)
      await reached
      if (how === 'operator') await server.app.mcpConnect.disconnect(A, 'acme')
      if (how === 'tool') await run(A, async connection => await connection.disconnect())
      if (how === 'removePrincipal') await server.app.mcpConnect.removePrincipal(A)
      resume()
      t.equal(title(await answer), 'You have disconnected this')
      t.equal(await server.vaultRows(), '[]')
      t.strictSame(told(), ['revocation.done', 'revocation.done'])
      t.equal(fake.counts.exchanges, 2)
    })
  }
})

t.test('a grant that cannot be stored is ended at the provider', async t => {
  const { server, untilCallback, revoked, told } = await startEnding(t)
  const browser = server.browser(A)
  const callback = await untilCallback(browser, (await server.elicit(A)).url)
  t.intercept(server.store.vault, 'put', { value: async () => { throw new Error('down') } })
  t.equal((await browser.get(callback)).statusCode, 503)
  t.equal(revoked().length, 2)
  t.strictSame(told(), ['revocation.done'])
})

t.test('an account that nobody wants is ended at the provider: said so, or not decided', async t => {
  const { server, fake, connect, untilCallback, revoked } = await startEnding(t, {}, { scopes: ['openid', 'email'] })
  const browser = await connect(A)
  const ask = async (): Promise<string> => {
    fake.account = { subject: 'bob', label: 'bob@example.com' }
    const link = String((await browser.press('/connect', '/acme/connect')).headers.location)
    return String((await browser.get(await untilCallback(browser, link))).headers.location)
  }
  await browser.press(await ask(), '/account/discard')
  t.equal(revoked().length, 2)
  t.strictSame(server.audit.filter(({ event }) => event.startsWith('revocation.')).map(({ event }) => event), ['revocation.done'])
  await browser.press(await ask(), '/account/add')
  t.equal(revoked().length, 2)
  t.match((await browser.get('/connect')).body, 'bob@example.com')
})
