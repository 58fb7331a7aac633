import t from 'tap'
import { startTraced } from '../fixtures/traced.js'

t.setTimeout(400_000)

// The application's own vault fails beside the call, where nobody can catch it: the process ends, and Node says why.
for (const failure of ['a rejection that nobody handles', 'a timer that throws', 'an event that throws']) {
  t.test(`LOG-11 ${failure} while a code is redeemed: the process ends without a secret on stderr`, async t => {
    const traced = await startTraced(t, { telemetry: 'documented' })
    const { scripted, secrets } = traced
    const browser = await traced.browser('alice')
    let redeeming = (): void => {}
    const request = new Promise<void>(resolve => { redeeming = resolve })
    scripted.script = { answer: () => redeeming() }
    const callback = await traced.untilCallback(browser)
    const answer = browser.get(callback.href).catch(() => null)
    await request
    await traced.arm('get', failure)
    await browser.get('/connect').catch(() => null)

    t.equal(await traced.ended, 1)
    t.equal(await answer, null, 'the callback was under way')
    const stderr = traced.stderr.join('')
    t.match(stderr, /Error: the vault lost its connection.*parameters: \[.*\nNode\.js v/s, 'Node says why')
    t.strictSame(secrets.find(stderr), [])
    t.strictSame(secrets.find(traced.stdout.join('\n')), [])
    for (const name of ['code', 'code_verifier', 'access token', 'flow cookie']) t.ok(secrets.names.includes(name), `${name} was looked for`)
  })
}

t.test('LOG-11 the same while the tokens are put into the vault', async t => {
  const traced = await startTraced(t, { telemetry: 'documented' })
  const browser = await traced.browser('alice')
  const callback = await traced.untilCallback(browser)
  await traced.arm('put', 'a rejection that nobody handles')
  await browser.get(callback.href).catch(() => null)
  t.equal(await traced.ended, 1)
  const stderr = traced.stderr.join('')
  t.match(stderr, /Error: the vault lost its connection.*parameters: \[/s, 'with what it was given, which is sealed')
  t.strictSame(traced.secrets.find(`${stderr}\n${traced.stdout.join('\n')}`), [])
  t.match(traced.stdout.join('\n'), /exchange\.started/)
  t.ok(traced.secrets.names.includes('refresh token'))
})
