import t from 'tap'
import { advance } from '../fixtures/clock.js'
import { startWithFake } from '../fixtures/fake-server.js'
import { fakePreset, PRESET_NAMES } from '../fixtures/presets.js'

const DAY_MS = 24 * 60 * 60_000
/** Of presets whose provider can give refresh tokens, or not: here it does. */
const QUIRKS = { github: { refreshTokens: 'single-use', tellsExpiry: true, accessTokenTtlSeconds: 8 * 60 * 60 } } as const

for (const name of PRESET_NAMES) {
  t.test(`${name}: connect, call, refresh, each class of failure, disconnect`, async t => {
    const { fake, provider } = await fakePreset(t, name, { ...QUIRKS[name as keyof typeof QUIRKS], now: () => Date.now() })
    const { server, browser, call, connect, follow } = await startWithFake(t, fake, provider)
    const expire = (): void => {
      advance(t, 8 * DAY_MS)
      fake.expireAccessTokens()
    }

    await connect()
    t.match(await call(), { kind: 'done', text: /^200 / })
    if (provider.identity !== undefined || provider.scopes.includes('openid')) {
      t.match((await browser.get('/connect')).body, /Connected as <strong>/, 'the account is named')
    }
    t.equal(server.log.filter(line => line.includes('less was granted')).length, 0, 'scopes are compared in its way')

    expire()
    t.match(await call(), { kind: 'done', text: /^200 / }, 'refreshed')
    t.match(fake.counts, { exchanges: 1, refreshes: 1, reuses: 0 })

    const before = await server.vaultRows()
    for (const outcome of ['unavailable', 'broken', 'drop', 'garbage'] as const) {
      expire()
      fake.next('refresh', outcome)
      const called = await call()
      t.match(called, { kind: 'error' }, `${outcome}: ${called.kind === 'link' ? '' : called.text}`)
      t.notMatch(called, /connect again/)
      t.equal(await server.vaultRows(), before, 'the grant stays')
    }
    expire()
    t.match(await call(), { kind: 'done', text: /^200 / }, 'and works when the provider does')

    expire()
    fake.next('refresh', 'misregistered')
    t.match(await call(), { kind: 'error', text: /operator|cannot be renewed just now/ }, 'nobody is asked for what the operator must mend')
    t.equal(server.log.filter(line => line.includes("does not accept this server's registration")).length, 1)
    expire()
    t.match(await call(), { kind: 'done' })

    expire()
    fake.next('refresh', 'dead')
    const first = await call()
    // Where nobody says how long an access token lives, it ends in the middle of a call.
    const asked = first.kind === 'error' ? await call() : first
    t.match(asked, { kind: 'link' }, 'the user is asked once the grant is gone')
    const { refreshes } = fake.counts
    t.match(await call(), { kind: 'link' })
    t.equal(fake.counts.refreshes, refreshes, 'what is dead is not tried again')
    t.match(asked.kind === 'link' && await follow(asked.url), /\/done$/)
    t.match(await call(), { kind: 'done', text: /^200 / })

    const location = String((await browser.press('/connect', '/acme/disconnect')).headers.location)
    const hasWay = provider.revocationRequest !== undefined || provider.endpoints === undefined || provider.endpoints.revocation !== undefined
    t.equal(fake.counts.revocations > 0, hasWay, 'the provider is told, if it can be')
    const said = (await browser.get(location)).body
    t.match(said, hasWay ? /ended/ : /settings/)
    t.equal(await server.vaultRows(), '[]')
    t.match(await call(), { kind: 'link' })
  })
}
