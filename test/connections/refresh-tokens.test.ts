import t from 'tap'
import { startAcme } from '../../examples/demo/acme.js'
import { startAuthorizationServer } from '../../examples/demo/authorization-server.js'
import { HttpBrowser } from '../../examples/demo/http-browser.js'
import { acmeCustomers } from '../../examples/demo/people.js'
import { visit } from '../../examples/demo/visitor.js'
import { allowLoopbackHttp, defineProvider } from '../../lib/index.js'
import { createAuthorizationRequest } from '../../lib/oauth/authorization-request.js'
import { createConfigurations } from '../../lib/oauth/configuration.js'
import { redeemCode } from '../../lib/oauth/token-request.js'
import type { ProviderDefinition } from '../../lib/types.js'
import { authorizationUrl } from '../fixtures/browser.js'
import { advance } from '../fixtures/clock.js'
import { json, startScriptedProvider } from '../fixtures/scripted-provider.js'
import { A, BASE_URL, startServer } from '../fixtures/server.js'
import { watch } from '../fixtures/watch.js'

const REDIRECT_URI = `${BASE_URL}/connect/callback/acme`

t.test('OAR-18 SEP-2207 a grant without a refresh token works until it expires; then the user is asked, and nothing is refreshed', async t => {
  const acme = await startAcme({ redirectUris: [REDIRECT_URI], grantTypes: ['authorization_code'] })
  t.teardown(() => acme.close())
  const server = await startServer(t, { at: acme })
  const connect = async (url: string): Promise<void> => {
    const browser = server.browser(A)
    t.equal((await browser.get((await server.untilCallback(browser, url)).href)).statusCode, 303)
  }
  const { url, session } = await server.elicit(A)
  await connect(url)
  t.match(await session.client.callTool({ name: 'issues' }), { content: [{ text: /rabbit hole/ }] })
  t.equal(server.tokenCalls(), 1)

  advance(t, 301_000)
  const error = await session.client.callTool({ name: 'issues' }).catch(error => error)
  t.match(error, { code: -32042, elicitations: [{ url: /^https:\/\/mcp\.example\.com\/connect\// }] })
  t.equal(server.tokenCalls(), 1, 'there is nothing to refresh with')
  await connect(error.elicitations[0].url)
  t.match(await session.client.callTool({ name: 'issues' }), { content: [{ text: /rabbit hole/ }] })
  t.equal(server.tokenCalls(), 2)
})

t.test('OAR-19 a real authorization server that gives refresh tokens for offline_access gives one, and none where it is not asked for', async t => {
  const { issuer } = await (async () => {
    const server = await startAuthorizationServer({
      site: { name: 'Acme', color: '#000' },
      people: acmeCustomers,
      scopes: { 'issues:read': 'read your issues' },
      clients: [{ client_id: 'example', client_secret: 'c'.repeat(43), client_name: 'Example', redirect_uris: [REDIRECT_URI] }],
      settings: {
        scopes: ['openid', 'offline_access', 'issues:read'],
        issueRefreshToken: async (_context, client, code) => client.grantTypeAllowed('refresh_token') && code.scopes.has('offline_access')
      }
    })
    t.teardown(() => server.close())
    return server
  })()
  const grantFor = async (change: Partial<ProviderDefinition>): Promise<{ refreshable: boolean, scopes: string | undefined }> => {
    const provider = defineProvider({
      name: 'Acme', issuer, clientId: 'example', clientSecret: 'c'.repeat(43), scopes: ['issues:read'], apiOrigins: ['https://api.acme.example'], [allowLoopbackHttp]: true, ...change
    })
    const configuration = await createConfigurations()(provider)
    const state = 's'.repeat(43)
    const { url, ...secrets } = await createAuthorizationRequest(configuration, provider, { redirectUri: REDIRECT_URI, scopes: provider.scopes, state })
    const { url: response } = await visit(new HttpBrowser([REDIRECT_URI]), url.href, { login: '', password: '', acmeLogin: 'alice@acme.example' })
    const tokens = await redeemCode(configuration, provider, { response, state, ...secrets })
    return { refreshable: tokens.refresh_token !== undefined, scopes: tokens.scope }
  }
  t.match(await grantFor({}), { refreshable: true, scopes: 'issues:read offline_access' })
  t.match(await grantFor({ scopes: ['openid', 'issues:read'] }), { refreshable: true })
  t.match(await grantFor({ refreshTokens: false }), { refreshable: false, scopes: 'issues:read' })
  t.match(await grantFor({ authorizationParameters: { prompt: 'login' } }), { refreshable: false, scopes: 'issues:read' }, 'such a server does not listen without the question')
})

t.test('OAR-32 OAR-19 the resource in each request is the third party\'s, and what was added to the scopes is not looked for', async t => {
  const { secrets } = watch(t)
  const scripted = await startScriptedProvider(t, secrets)
  const acme = await startAcme()
  t.teardown(() => acme.close())
  scripted.metadata['scopes_supported'] = ['issues:read', 'offline_access']
  const bearer = { token_type: 'bearer', scope: 'issues:read', expires_in: 300 }
  const { fetch } = globalThis
  const seen: Array<string | null> = []
  t.intercept(globalThis, 'fetch', {
    value: async (...[input, init]: Parameters<typeof fetch>) => {
      if (!(input instanceof Request) || !input.url.startsWith(acme.apiOrigin)) return await fetch(input, init)
      seen.push(input.headers.get('authorization'))
      return new Response('the one issue')
    }
  })
  for (const resource of ['https://api.acme.example/v2', undefined]) {
    const server = await startServer(t, {
      at: acme,
      beside: [scripted],
      acme: { issuer: scripted.issuer, clientId: 'acme', clientSecret: scripted.clientSecrets.acme, ...resource !== undefined && { resource } }
    })
    const [first, second] = [`first-${resource}`.replaceAll(/\W/g, '-'), `second-${resource}`.replaceAll(/\W/g, '-')]
    secrets.add('access token', first)
    secrets.add('access token', second)
    scripted.script = { answer: ({ response }) => json(response, { ...bearer, access_token: first, refresh_token: 'refresh-token-1' }) }
    const { url, session } = await server.elicit(A)
    const browser = server.browser(A)
    const authorize = authorizationUrl(await browser.press(url, '/start'))
    t.match(Object.fromEntries(authorize.searchParams), { scope: 'issues:read offline_access' })
    t.equal((await browser.get((await scripted.authorize(authorize)).href)).statusCode, 303)
    t.match(await session.client.callTool({ name: 'issues' }), { content: [{ text: 'the one issue' }] }, 'offline_access is not missing, though it did not come back')
    t.notMatch((await browser.get('/connect')).body, 'offline_access')

    scripted.answers.set('/token', (_request, response) => json(response, { ...bearer, access_token: second }))
    await t.test('and a refresh', async t => {
      advance(t, 301_000)
      t.match(await session.client.callTool({ name: 'issues' }), { content: [{ text: 'the one issue' }] })
    })
    scripted.answers.delete('/token')
    t.strictSame(seen.splice(0), [`Bearer ${first}`, `Bearer ${second}`])

    const requests = scripted.requests.splice(0).filter(({ path }) => ['/authorize', '/token'].includes(path)).map(({ path, query, body }) => ({ path, form: new URLSearchParams(query || body) }))
    t.strictSame(requests.map(({ path, form }) => [path, form.get('grant_type')]), [['/authorize', null], ['/token', 'authorization_code'], ['/token', 'refresh_token']])
    for (const { path, form } of requests) {
      t.strictSame(form.getAll('resource'), resource === undefined ? [] : [resource], path)
      t.notOk([...form].some(([name, value]) => name !== 'redirect_uri' && value.startsWith(BASE_URL)), 'nothing names this server but the redirect URI')
    }
  }
})
