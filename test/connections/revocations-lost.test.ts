import t from 'tap'
import { LISTS, MAX_LENGTH } from '../../lib/connections/pending-revocations.js'
import { advance } from '../fixtures/clock.js'
import { connect, left, start, user } from '../fixtures/ending.js'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

t.test('after a week nobody tries any more, and that is told', async t => {
  const { store, fake, provider, process } = await start(t)
  const rows = left(t, store)
  await connect(process, fake, user('a'), provider)
  fake.next('revocation', 'unavailable', 1000)
  await process.disconnecting.disconnect(user('a'), 'acme')
  for (let hours = 0; hours < 8 * 24 && rows() > 0; hours += 12) {
    advance(t, 12 * 60 * MINUTE_MS)
    await process.revocations.sweep()
  }
  t.equal(process.told().at(-1), 'revocation.failed given_up')
  const tries = process.told().length
  t.ok(tries > 10 && tries < 17, `${tries} tries`)
  t.equal(rows(), 0)
  t.ok(process.audit.at(-1)!.at - process.audit[0]!.at <= 7.5 * DAY_MS)
})

t.test('lists that are full, and a store that fails: what can be done now is done, and the rest is told to be lost', async t => {
  const { fake, provider, process } = await start(t)
  const max = LISTS * MAX_LENGTH
  const grant = { issuer: provider.issuer, clientId: provider.clientId, grant: { accessToken: 'x' } }
  for (let i = 0; i < max; i++) await process.revocations.prepare(user(`u${i}`), 'acme', grant)
  const ended = await connect(process, fake, user('a'), provider)
  t.match(await process.disconnecting.disconnect(user('a'), 'acme'), [{ atProvider: 'revoked' }])
  t.equal(await ended.works(), false)
  await connect(process, fake, user('b'), provider)
  fake.next('revocation', 'unavailable')
  t.match(await process.disconnecting.disconnect(user('b'), 'acme'), [{ atProvider: 'lost' }])
  t.strictSame(process.told(), ['revocation.done', 'revocation.failed lost'])

  const down = await start(t)
  t.intercept(down.store.state, 'put', { value: async () => { throw new Error('down') } })
  const gone = await connect(down.process, down.fake, user('a'), down.provider)
  t.match(await down.process.disconnecting.disconnect(user('a'), 'acme'), [{ atProvider: 'revoked' }])
  t.equal(await gone.works(), false)
  await connect(down.process, down.fake, user('b'), down.provider)
  down.fake.next('revocation', 'unavailable')
  t.match(await down.process.disconnecting.disconnect(user('b'), 'acme'), [{ atProvider: 'lost' }])
  t.strictSame(down.process.told(), ['revocation.done', 'revocation.failed lost'])
})
