import t from 'tap'
import { allowLoopbackHttp, defineProvider } from '../../lib/index.js'
import { createConfigurations } from '../../lib/oauth/configuration.js'
import { refreshTokens } from '../../lib/oauth/refresh-request.js'
import { startFake } from '../fixtures/presets.js'

t.test('endpoints count in whatever spelling: a dead grant is dead, and the provider is spoken to in its way', async t => {
  const fake = await startFake(t, { tokenRequestFormat: 'json', clientSecret: 'secret', clientId: 'client' })
  for (const token of ['/token', '/x/../token', '/./token']) {
    const provider = defineProvider({
      name: 'Fake',
      issuer: fake.issuer,
      clientId: 'client',
      clientSecret: 'secret',
      tokenRequestFormat: 'json',
      apiOrigins: [fake.issuer],
      [allowLoopbackHttp]: true,
      endpoints: { authorization: `${fake.issuer}/authorize`, token: fake.issuer.replace('http:', 'HTTP:') + token }
    })
    t.strictSame(await refreshTokens(await createConfigurations()(provider), provider, 'unknown'), { kind: 'dead' }, token)
  }
})
