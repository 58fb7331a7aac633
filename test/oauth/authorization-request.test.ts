import * as client from 'openid-client'
import t from 'tap'
import { allowLoopbackHttp, defineProvider, oidcLogin } from '../../lib/index.js'
import { createAuthorizationRequest } from '../../lib/oauth/authorization-request.js'
import { createConfigurations } from '../../lib/oauth/configuration.js'
import type { ProviderDefinition, Registration } from '../../lib/types.js'
import { startScriptedProvider } from '../fixtures/scripted-provider.js'
import { Secrets } from '../fixtures/secrets.js'

const issuer = 'https://acme.example'
const configuration = new client.Configuration({ issuer, authorization_endpoint: `${issuer}/authorize` }, 'id')
const provider = defineProvider({ name: 'Acme', issuer, clientId: 'id', apiOrigins: ['https://api.acme.example'] })
const request = { redirectUri: 'https://mcp.example.com/connect/callback/acme', scopes: ['openid'], state: 's'.repeat(43) }

t.test('OAR-13 each request has a code verifier and a nonce of its own, and sends the hash of the one and the other', async t => {
  const made = await Promise.all(Array.from({ length: 20 }, () => createAuthorizationRequest(configuration, provider, request)))
  for (const { url, codeVerifier, nonce } of made) {
    t.match(codeVerifier, /^[\w-]{43}$/)
    t.match(nonce, /^[\w-]{43}$/)
    t.equal(url.searchParams.get('code_challenge'), await client.calculatePKCECodeChallenge(codeVerifier))
    t.equal(url.searchParams.get('nonce'), nonce)
    t.notMatch(url.href, codeVerifier)
  }
  t.equal(new Set(made.flatMap(({ codeVerifier, nonce }) => [codeVerifier, nonce])).size, 40)
})

t.test('OAR-13 nothing takes the place of our own parameters', async t => {
  const own = ['response_type', 'redirect_uri', 'state', 'code_challenge', 'code_challenge_method', 'scope', 'nonce', 'prompt']
  const others = Object.fromEntries(own.map(name => [name, 'other']))
  const { url } = await createAuthorizationRequest(configuration, { ...provider, authorizationParameters: others }, { ...request, prompt: 'login' })
  for (const name of own) t.not(url.searchParams.get(name), 'other', name)
  t.equal([...url.searchParams].length, own.length + 1, 'and client_id')
  const bare = await createAuthorizationRequest(configuration, provider, { ...request, scopes: [] })
  t.notOk(bare.url.searchParams.has('scope'), 'what is not asked for does not stand there empty')
})

/** What is asked for, by a server with these metadata. */
async function asked (metadata: object, change: Partial<ProviderDefinition> = {}, request: { scopes: readonly string[], prompt?: string } = { scopes: ['a'] }): Promise<Record<string, string>> {
  const configuration = new client.Configuration({ issuer, authorization_endpoint: `${issuer}/authorize`, ...metadata }, 'id')
  const provider = defineProvider({ name: 'Acme', issuer, clientId: 'id', apiOrigins: ['https://api.acme.example'], ...change })
  const { url } = await createAuthorizationRequest(configuration, provider, { redirectUri: 'https://mcp.example.com/connect/callback/acme', state: 's'.repeat(43), ...request })
  return Object.fromEntries(url.searchParams)
}

t.test('OAR-19 SEP-2207 offline_access is asked for where the metadata list it, with the question that it needs', async t => {
  const listed = { scopes_supported: ['a', 'openid', 'offline_access'] }
  t.match(await asked(listed), { scope: 'a offline_access', prompt: 'consent' })
  t.match(await asked(listed, {}, { scopes: ['openid', 'a'] }), { scope: 'openid a offline_access', prompt: 'consent' })
  t.match(await asked(listed, {}, { scopes: ['offline_access', 'a'] }), { scope: 'offline_access a', prompt: 'consent' }, 'once')
  t.match(await asked(listed, {}, { scopes: ['a'], prompt: 'select_account' }), { prompt: 'consent select_account' })
  const withPrompt = { authorizationParameters: { prompt: 'login' } }
  t.match(await asked(listed, withPrompt), { scope: 'a offline_access', prompt: /^login$/ }, 'a definition that has a prompt knows better')

  for (const [what, request] of Object.entries({
    'not listed': await asked({ scopes_supported: ['a'] }),
    'nothing listed': await asked({}),
    'listed by a text': await asked({ scopes_supported: 'offline_access' }),
    'not wanted': await asked(listed, { refreshTokens: false })
  })) {
    t.equal(request['scope'], 'a', what)
    t.notOk('prompt' in request, what)
  }
  t.notOk('scope' in await asked(listed, {}, { scopes: [] }), 'a server that chooses the scopes itself goes on to do so')
  t.match(await asked({}, {}, { scopes: ['a', 'offline_access'] }), { scope: 'a offline_access' }, 'what a definition asks for is asked for')
})

t.test('OAR-19 nor is it asked for where the endpoints are pinned, or at a login', async t => {
  const scripted = await startScriptedProvider(t, new Secrets())
  scripted.metadata['scopes_supported'] = ['openid', 'a', 'offline_access']
  const scopeOf = async (registration: Registration): Promise<string | null> =>
    (await createAuthorizationRequest(await createConfigurations()(registration), registration, { ...request, scopes: ['openid', 'a'] })).url.searchParams.get('scope')
  const endpoints = { authorization: `${scripted.issuer}/authorize`, token: `${scripted.issuer}/token` }
  t.equal(await scopeOf(scripted.provider()), 'openid a offline_access')
  t.equal(await scopeOf(scripted.provider({ endpoints })), 'openid a')
  t.equal(await scopeOf({ ...oidcLogin({ issuer: scripted.issuer, clientId: 'web', [allowLoopbackHttp]: true }), name: 'the login' }), 'openid a')
})

t.test('scopes are asked for in the parameter, and with the separator, of the provider', async t => {
  t.match(await asked({}, {}, { scopes: ['a', 'b'] }), { scope: 'a b' })
  const slack = { scopeParameter: 'user_scope', requestScopeSeparator: ',' as const, authorizationParameters: { user_scope: 'other' } }
  const request = await asked({}, slack, { scopes: ['a', 'b:c'] })
  t.equal(request['user_scope'], 'a,b:c', 'whatever else stands there')
  t.notOk('scope' in request)
  t.match(await asked({ scopes_supported: ['offline_access'] }, slack, { scopes: ['a', 'b'] }), { user_scope: 'a,b,offline_access' })
  for (const scopeParameter of ['state', 'redirect_uri', 'code_challenge', 'User Scope', '']) {
    t.throws(() => defineProvider({ name: 'Acme', issuer, clientId: 'id', apiOrigins: ['https://api.acme.example'], scopeParameter }), { code: 'FST_MCP_CONNECT_OPTIONS', message: /→ at scopeParameter/ }, scopeParameter)
  }
})
