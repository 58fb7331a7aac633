import t from 'tap'
import type { FakeProvider, FakeQuirks } from '../../lib/testing/index.js'
import type { ProviderDefinition } from '../../lib/types.js'
import { unescape } from '../fixtures/browser.js'
import { startEnding } from '../fixtures/ending-server.js'
import { A, B } from '../fixtures/server.js'

t.test('VLT-16 COMPLAINTS: disconnect leaves the grant alive at the provider: the page says once what became of it there', async t => {
  for (const [quirks, change, outcome, said, event] of [
    [{}, {}, undefined, "This server's access at Fake has ended, too.", 'revocation.done'],
    [{ errorCodes: { dead: 'invalid_token' } }, {}, 'dead', "This server's access at Fake has ended, too.", 'revocation.done'],
    [{}, {}, 'unavailable', 'Fake could not be reached to end this server\'s access there, and will be tried again.', 'revocation.postponed'],
    [{}, {}, 'misregistered', 'remove it in your settings there', 'revocation.failed refused'],
    [{ revocation: 'none' }, {}, undefined, 'remove it in your settings there', 'revocation.failed unsupported'],
    [{}, { revocationRequest: () => { throw new Error('x') } }, undefined, 'remove it in your settings there', 'revocation.failed refused']
  ] as ReadonlyArray<readonly [FakeQuirks, Partial<ProviderDefinition>, Parameters<FakeProvider['next']>[1] | undefined, string, string]>) {
    const { server, fake, connect, told } = await startEnding(t, quirks, change)
    const browser = await connect(A)
    const page = await browser.get('/connect')
    t.match(unescape(page.body), "Disconnecting deletes what is stored here, and has Fake end this server's access there.")
    t.notMatch(page.body, 'role="status"')
    if (outcome !== undefined) fake.next('revocation', outcome, 2)
    t.match((await browser.press('/connect', '/acme/disconnect')).headers, { location: 'https://mcp.example.com/connect' })
    t.equal(await server.vaultRows(), '[]', 'it is deleted here in any case')
    t.strictSame(told().slice(0, 1), [event])
    const after = unescape((await browser.get('/connect')).body)
    t.match(after, /role="status">Disconnected: what was stored here is deleted\./)
    t.match(after, said)
    t.notMatch((await browser.get('/connect')).body, 'role="status"', 'once')
  }
})

t.test('what the page says is for whoever has disconnected', async t => {
  const { server, connect } = await startEnding(t)
  const browser = await connect(A)
  await browser.press('/connect', '/acme/disconnect')
  const [name, value] = [...browser.cookies].find(([name]) => name.endsWith('notice'))!
  t.match(name, /^__Host-/)
  browser.user = B
  t.notMatch((await browser.get('/connect')).body, 'role="status"')
  t.notOk(browser.cookies.has(name))
  browser.user = A
  for (const changed of [value.slice(0, -2), value.toUpperCase(), 'x', '']) {
    browser.cookies.set(name, changed)
    const page = await browser.get('/connect')
    t.equal(page.statusCode, 200)
    t.notMatch(page.body, 'role="status"')
  }
  const twice = await server.browser(A).get('/connect', { cookie: `${name}=${value}; ${name}=x` })
  t.equal(twice.statusCode, 200)
  await browser.get('/connect')
  t.notMatch([...browser.cookies.keys()].join(), 'notice')
})

t.test('a provider that does not answer does not hold up the page', async t => {
  const { server, fake, connect, told } = await startEnding(t)
  const browser = await connect(A)
  fake.next('revocation', 'hang')
  const before = performance.now()
  await browser.press('/connect', '/acme/disconnect')
  t.ok(performance.now() - before < 9000)
  t.equal(await server.vaultRows(), '[]')
  t.match(unescape((await browser.get('/connect')).body), 'will be tried again')
  await fake.close()
  await server.app.close()
  t.strictSame(told(), ['revocation.postponed'])
})
