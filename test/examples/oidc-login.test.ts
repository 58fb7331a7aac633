import { createHash } from 'node:crypto'
import type { Configuration } from 'oidc-provider'
import t from 'tap'
import { employees } from '../../examples/demo/people.js'
import { allowLoopbackHttp } from '../../lib/index.js'
import type { Claims } from '../../lib/types.js'
import { title } from '../fixtures/browser.js'
import { advance } from '../fixtures/clock.js'
import { startWithLogin } from '../fixtures/login.js'
import { BASE_URL } from '../fixtures/server.js'

Object.assign(process.env, { LOGIN_CLIENT_ID: 'web', LOGIN_CLIENT_SECRET: 'secret' })
const { browser: { issuer, clientId, clientSecret, kind, ...login }, principal, closeAccount } = await import('../../examples/oidc-login.js')

/** An authorization server that calls users something else at each client, and the same in `oid`, within the tenant `tid`. */
const settings: Configuration = {
  subjectTypes: ['public', 'pairwise'],
  pairwiseIdentifier: async (_ctx, subject, client) => createHash('sha256').update(client.clientId + subject).digest('hex'),
  claims: { openid: ['sub', 'oid', 'tid'], profile: ['preferred_username'] },
  findAccount: async (_ctx, subject) => {
    const { login } = employees.find(person => person.subject === subject)!
    return { accountId: subject, claims: async () => ({ sub: subject, oid: subject, tid: 't1', preferred_username: login }) }
  },
  extraTokenClaims: async (_ctx, token) => ({ oid: 'accountId' in token ? token.accountId : undefined, tid: 't1' })
}

for (const [source, resource] of [['the id_token', undefined], ['an access token', `${BASE_URL}/mcp`]] as const) {
  t.test(`a user whom tokens call differently is the same one in the browser, by ${source}`, async t => {
    const seen: Claims[] = []
    const server = await startWithLogin(t, {
      settings,
      client: { subject_type: 'pairwise' },
      login: { ...login, ...resource !== undefined && { resource }, [allowLoopbackHttp]: true },
      principal: claims => {
        seen.push(claims)
        return principal(claims)
      }
    })
    const { authorizationServer: { issuer }, app } = server
    const session = await server.openSession({ claims: { iss: issuer, sub: 'alice-at-the-mcp-client', oid: 'employee-1', tid: 't1' } })
    const error = await session.client.callTool({ name: 'issues' }).catch(error => error)
    t.match(error, { code: -32042, elicitations: [{ message: 'Connect Acme to list your issues.' }] })
    t.match(session.wire.at(-1), { error: { code: -32042 } })
    const { url } = error.elicitations[0]

    const [alice, bob] = [server.person('alice'), server.person('bob')]
    t.match(await alice.signIn(url), { statusCode: 303, headers: { location: new URL(url).pathname } })
    t.match(seen.at(-1), resource === undefined ? { oid: 'employee-1', aud: 'web', sub: /^[0-9a-f]{64}$/ } : { oid: 'employee-1', aud: resource, client_id: 'web' })
    t.equal(title(await alice.browser.get(url)), 'Connect Acme to Example?')
    await bob.signIn(url)
    t.equal((await bob.browser.get(url)).statusCode, 403)
    const callback = await server.untilCallback(alice.browser, url)
    t.equal((await alice.browser.get(callback.href)).statusCode, 303)
    t.match(await session.client.callTool({ name: 'issues' }), { content: [{ text: /rabbit hole/ }] })

    await closeAccount(app, { tid: 't1', oid: 'employee-1' })
    t.match(await alice.browser.get('/connect'), { statusCode: 303, headers: { location: /^\/connect\/login/ } })
    t.equal((await bob.browser.get('/connect')).statusCode, 200, 'nobody else is signed out')
    advance(t, 15 * 60_000 + 1)
    t.equal((await bob.browser.get('/connect')).statusCode, 303, 'but after a while without a page')
  })
}
