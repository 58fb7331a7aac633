import type { IncomingMessage, ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import type { Connection } from '../../lib/types.js'
import { advance, stopClock } from '../fixtures/clock.js'
import { startRefreshable, type Refreshable, type Refresher } from '../fixtures/refreshable.js'
import { json } from '../fixtures/scripted-provider.js'

// What connection.fetch makes of an API that refuses an access token which has not expired.

interface Refused extends Refreshable {
  readonly one: Refresher
  readonly connection: Connection
  readonly url: string
  /** What the API was sent: the method, whether with the first access token, and the body. */
  sent (): string[]
}

async function startRefused (t: Test, { answer = (request, response, first) => first(request) ? json(response, { error: 'revoked' }, 401) : json(response, {}) }: {
  answer?: (request: IncomingMessage, response: ServerResponse, isFirst: (request: IncomingMessage) => boolean) => void
} = {}): Promise<Refused> {
  const refreshable = await startRefreshable(t)
  const { scripted, stored, process } = refreshable
  stopClock(t)
  advance(t, 60_000)
  const isFirst = ({ headers }: Pick<IncomingMessage, 'headers'>): boolean => headers.authorization === `Bearer ${stored.grant.accessToken}`
  scripted.answers.set('/api/issues', (request, response) => answer(request, response, isFirst))
  const one = process()
  return {
    ...refreshable,
    one,
    connection: one.connection(stored),
    url: `${scripted.issuer}/api/issues`,
    sent: () => scripted.requests.filter(({ path }) => path === '/api/issues').map(request => `${request.method} ${isFirst(request) ? 'first' : 'other'} ${request.body}`)
  }
}

const stream = (): ReadableStream => new Blob(['a stream']).stream()

t.test('a 401 has the token renewed once, and the request sent once more, with what it was sent with', async t => {
  const { connection, url, sent, presented, now } = await startRefused(t)
  t.equal((await connection.fetch(url, { method: 'POST', body: 'text' })).status, 200)
  t.strictSame(sent(), ['POST first text', 'POST other text'])
  t.equal((await connection.fetch(url)).status, 200)
  t.equal(await connection.accessToken(), (await now())!.grant.accessToken)
  t.equal(sent().at(-1), 'GET other ')
  t.equal(presented().length, 1)
})

t.test('many that are refused at once, in two processes, are renewed once', async t => {
  const { connection, url, process, stored, presented } = await startRefused(t)
  const other = process().connection(stored)
  const answers = await Promise.all(Array.from({ length: 25 }, () => [connection.fetch(url), other.fetch(url)]).flat())
  t.strictSame([...new Set(answers.map(({ status }) => status))], [200])
  t.equal(presented().length, 1)
})

t.test('what another process has got is used, and renewed when it is refused too', async t => {
  const { process, place, stored, scripted, connection, url, sent, presented, now } = await startRefused(t)
  await process().renew(place, stored)
  const second = (await now())!.grant.accessToken
  advance(t, 60_000)
  scripted.answers.set('/api/issues', ({ headers }, response) =>
    json(response, {}, [stored.grant.accessToken, second].some(token => headers.authorization === `Bearer ${token}`) ? 401 : 200))
  t.equal((await connection.fetch(url)).status, 200)
  t.equal(sent().length, 3)
  t.equal(presented().length, 2)
})

t.test('what cannot be sent twice is sent once, and the next one has another token', async t => {
  for (const make of [(url: string) => [url, { method: 'POST', body: stream() }], (url: string) => [new Request(url, { method: 'POST', body: 'a request' })]]) {
    const { connection, url, sent, presented, now } = await startRefused(t)
    const refused = await connection.fetch(...make(url) as Parameters<Connection['fetch']>)
    t.equal(refused.status, 401)
    t.strictSame(await refused.json(), { error: 'revoked' }, 'the handler reads why')
    t.equal(sent().length, 1)
    while ((await now())!.version === 0) await new Promise(resolve => setImmediate(resolve))
    t.equal((await connection.fetch(...make(url) as Parameters<Connection['fetch']>)).status, 200)
    t.equal(sent().length, 2)
    t.equal(presented().length, 1)
  }
})

t.test('an API that always says 401 has no token renewed with each call', async t => {
  const { connection, url, sent, presented } = await startRefused(t, { answer: (_request, response) => json(response, { error: 'never' }, 401) })
  for (let i = 0; i < 5; i++) {
    const refused = await connection.fetch(url)
    t.strictSame([refused.status, await refused.json()], [401, { error: 'never' }])
  }
  t.strictSame(sent().length, 6)
  t.equal(presented().length, 1)
  advance(t, 29_000)
  await connection.fetch(url)
  t.equal(presented().length, 1)
  advance(t, 2000)
  await connection.fetch(url)
  t.equal(presented().length, 2)
})

t.test('a 401 of a grant that has ended, or of a provider in trouble, ends in an error that says so, and the provider is not asked with each call', async t => {
  for (const [status, error] of [[400, 'invalid_grant'], [503, 'later'], [401, 'invalid_client']] as const) {
    const { scripted, connection, url, sent, presented, one, now } = await startRefused(t)
    scripted.script = { refresh: ({ response }) => json(response, { error }, status) }
    for (let i = 1; i < 4; i++) {
      await t.rejects(connection.fetch(url), { code: error === 'invalid_grant' ? 'FST_MCP_CONNECT_GRANT_ENDED' : 'FST_MCP_CONNECT_REFRESH_FAILED' })
      t.equal(sent().length, i)
    }
    t.equal(presented().length, 1)
    t.equal((await now())!.deadAt !== undefined, error === 'invalid_grant')
    t.strictSame(one.audit, [error === 'invalid_grant' ? 'refresh.invalid_grant' : 'refresh.failed'])
  }
})
