import Fastify from 'fastify'
import { randomBytes } from 'node:crypto'
import t from 'tap'
import type { AtProvider } from '../../lib/account.js'
import { createCookies } from '../../lib/browser/cookies.js'
import { createNotices, type Notice } from '../../lib/browser/notices.js'
import { createKeyRing } from '../../lib/vault/key-ring.js'
import { advance } from '../fixtures/clock.js'

const a = { issuer: 'https://login.example.com', subject: 'a' }

t.test('of what became of several grants that is said which the user has to know most, and for a minute', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  const notices = createNotices(createKeyRing([randomBytes(32)]), await createCookies(app, true, 'mcp-connect'))
  app.post('/', async (request, reply) => {
    await notices.write(reply, a, 'acme', request.body as AtProvider[])
    return {}
  })
  app.get('/', async (request, reply) => JSON.stringify(await notices.take(request, reply, a)))
  const write = async (outcomes: readonly AtProvider[]): Promise<string | undefined> =>
    (await app.inject({ method: 'POST', url: '/', payload: outcomes })).cookies.map(({ name, value }) => `${name}=${value}`)[0]
  const read = async (cookie: string | undefined): Promise<Notice | null> => JSON.parse((await app.inject({ url: '/', headers: { cookie } })).body) as Notice | null

  for (const [outcomes, atProvider] of [
    [['revoked'], 'revoked'], [['revoked', 'later'], 'later'], [['later', 'refused', 'revoked'], 'refused'], [['spared', 'lost'], 'lost'], [['revoked', 'spared'], 'spared']
  ] as ReadonlyArray<readonly [AtProvider[], AtProvider]>) t.match(await read(await write(outcomes)), { provider: 'acme', atProvider })
  t.equal(await write([]), undefined, 'nothing has ended')
  const cookie = await write(['revoked'])
  advance(t, 59_000)
  t.match(await read(cookie), { atProvider: 'revoked' })
  advance(t, 2000)
  t.equal(await read(cookie), null)
})
