import t from 'tap'
import { startWithFake } from '../fixtures/fake-server.js'
import { notion } from '../../lib/index.js'
import { fakeOf } from '../../lib/testing/index.js'

t.test('a client id and secret of usual characters suit servers that decode Basic credentials, and those that do not', async t => {
  for (const [decodesCredentials, clientId, clientSecret] of [[false, '1f2e-3d', 'secret_x.y~z'], [true, '1f2e-3d', 'secret_x.y~z'], [true, 'a:b c', '%+é&=:']] as const) {
    const { fake, provider } = await fakeOf(notion({ clientId, clientSecret }), { decodesCredentials })
    t.teardown(() => fake.close())
    const { call, connect } = await startWithFake(t, fake, provider)
    await connect()
    t.match(await call(), { kind: 'done', text: /^200 / })
  }
})
