import { generateKeyPair } from 'jose'
import * as client from 'openid-client'
import t, { type Test } from 'tap'
import { allowLoopbackHttp, defineProvider } from '../../lib/index.js'
import { createAuthorizationRequest } from '../../lib/oauth/authorization-request.js'
import { readAuthorizationResponse } from '../../lib/oauth/authorization-response.js'
import { readUser } from '../../lib/oauth/claims.js'
import { createConfigurations, type Configuration } from '../../lib/oauth/configuration.js'
import { readGrant } from '../../lib/oauth/grant.js'
import { redeemCode, type CodeExchange } from '../../lib/oauth/token-request.js'
import type { Provider } from '../../lib/types.js'
import { prints } from '../fixtures/prints.js'
import { FAULTS, json, startScriptedProvider, type ScriptedProvider, type TokenRequest } from '../fixtures/scripted-provider.js'
import { Secrets } from '../fixtures/secrets.js'

interface Exchanges {
  readonly secrets: Secrets
  readonly scripted: ScriptedProvider
  readonly provider: Provider
  readonly configuration: Configuration
  /** As far as the response. */
  begin (): Promise<CodeExchange>
}

async function start (t: Test): Promise<Exchanges> {
  const secrets = new Secrets()
  const scripted = await startScriptedProvider(t, secrets)
  const provider = defineProvider({
    name: 'Acme',
    issuer: scripted.issuer,
    clientId: 'acme',
    clientSecret: scripted.clientSecrets.acme,
    scopes: ['openid'],
    apiOrigins: [scripted.issuer],
    [allowLoopbackHttp]: true
  })
  const configuration = await createConfigurations()(provider)
  return {
    secrets,
    scripted,
    provider,
    configuration,
    async begin () {
      const redirectUri = 'https://mcp.example.com/connect/callback/acme'
      const state = client.randomState()
      const { url, codeVerifier, nonce } = await createAuthorizationRequest(configuration, provider, { redirectUri, scopes: ['openid'], state })
      secrets.add('code_verifier', codeVerifier)
      return { response: await scripted.authorize(url), state, codeVerifier, nonce: nonce! }
    }
  }
}

const failure = async (work: Promise<unknown>): Promise<unknown> => await work.then(() => { throw new Error('it has not failed') }, error => error)

t.test('LOG-05 what is thrown when a code is redeemed in vain holds no secret, however it is printed', async t => {
  const { secrets, scripted, provider, configuration, begin } = await start(t)
  for (const [title, answer] of Object.entries(FAULTS)) {
    scripted.script = { answer }
    const exchange = await begin()
    const error = await failure(redeemCode(configuration, provider, exchange).then(tokens => readGrant(provider, tokens, [])))
    t.match(error, { code: 'FST_MCP_CONNECT_EXCHANGE_FAILED' }, title)
    t.strictSame(secrets.find(prints(error)), [], title)
  }
  for (const name of ['code', 'state', 'code_verifier', 'nonce', 'access token', 'refresh token', 'id_token', 'client secret', 'Basic header', 'error_description']) {
    t.ok(secrets.names.includes(name), `${name} was looked for`)
  }
})

t.test('LOG-05 the errors of the library, which are not passed on, do hold them', async t => {
  const { secrets, scripted, provider, configuration, begin } = await start(t)
  const found = async (title: keyof typeof FAULTS): Promise<string[]> => {
    scripted.script = { answer: FAULTS[title]! }
    const { response, state, codeVerifier, nonce } = await begin()
    const error = await failure(client.authorizationCodeGrant(configuration, response, { pkceCodeVerifier: codeVerifier, expectedState: state, expectedNonce: nonce! }))
    return secrets.find(prints(error))
  }
  t.ok((await found('tokens for a token type')).includes('access token (plain)'))
  t.ok((await found('a refused code')).includes('error_description (plain)'))
  t.match(secrets.find(prints(provider)), ['client secret (plain)'], 'a provider is the host\'s own data')
})

t.test('LOG-05 nor does what is thrown when no answer comes', async t => {
  const { secrets, scripted, provider, configuration, begin } = await start(t)
  scripted.script = { answer: () => {} }
  const exchange = await begin()
  await t.test(async t => {
    const { timeout } = AbortSignal
    t.intercept(AbortSignal, 'timeout', { value: () => timeout(50) })
    const error = await failure(redeemCode(configuration, provider, exchange))
    t.match(error, { code: 'FST_MCP_CONNECT_EXCHANGE_FAILED', message: /timeout/ })
    t.strictSame(secrets.find(prints(error)), [])
  })
})

t.test('LOG-05 nor a response of another issuer, or one that is malformed', async t => {
  const { secrets, provider, configuration, begin } = await start(t)
  const { response: { searchParams } } = await begin()
  const query = Object.fromEntries(searchParams)
  for (const [change, code] of [
    [{ iss: `https://attacker.example/${query['code']}` }, 'ISS_MISMATCH'],
    [{ iss: undefined }, 'ISS_MISMATCH'],
    [{ iss: [query['iss'], query['code']] }, 'RESPONSE_INVALID'],
    [{ code: [query['code'], query['code']] }, 'RESPONSE_INVALID'],
    [{ code: undefined }, 'RESPONSE_INVALID'],
    [{ error: [query['code']] }, 'RESPONSE_INVALID']
  ] as const) {
    const error = await failure((async () => readAuthorizationResponse(configuration, provider, { ...query, ...change }))())
    t.match(error, { code: `FST_MCP_CONNECT_${code}` })
    t.strictSame(secrets.find(prints(error)), [], JSON.stringify(Object.keys(change)))
  }
})

t.test('LOG-05 nor metadata that cannot be had or used, whose text is the provider\'s', async t => {
  const { secrets, scripted, provider } = await start(t)
  const body = `what stands in the body: ${client.randomState()}`
  secrets.add('body', body)
  const metadata = async (): Promise<Record<string, unknown>> => await (await fetch(`${scripted.issuer}/.well-known/openid-configuration`)).json() as Record<string, unknown>
  const good = await metadata()
  for (const [title, answer] of Object.entries<Parameters<typeof scripted.answers.set>[1]>({
    text: (_request, response) => { response.end(body) },
    'broken JSON': (_request, response) => { response.setHeader('content-type', 'application/json').end(`{"issuer":"${body}`) },
    'another issuer': (_request, response) => json(response, { ...good, issuer: `https://attacker.example/${body}` }),
    'no S256': (_request, response) => json(response, { ...good, code_challenge_methods_supported: [body] }),
    'another endpoint': (_request, response) => json(response, { ...good, token_endpoint: `http://attacker.example/?${body}` }),
    'an error': (_request, response) => json(response, { error: body, error_description: body }, 400),
    'a server in trouble': (_request, response) => json(response, { error_description: body }, 503),
    'a redirect': (_request, response) => { response.writeHead(302, { location: `/elsewhere?${encodeURIComponent(body)}` }).end(body) },
    'too much': (_request, response) => json(response, { ...good, body: body.repeat(2000) }),
    'a broken connection': request => { request.socket.destroy() },
    'what is no HTTP': request => { request.socket.end(body) }
  })) {
    scripted.answers.set('/.well-known/openid-configuration', answer)
    const error = await failure(createConfigurations()(provider))
    t.match(error, { code: /^FST_MCP_CONNECT_PROVIDER_(UNAVAILABLE|MISCONFIGURED)$/ }, title)
    t.strictSame(secrets.find(prints(error)), [], title)
  }
})

t.test('LOG-05 nor an access token of the login that names nobody', async t => {
  const { secrets, scripted, provider, configuration, begin } = await start(t)
  const resource = 'https://mcp.example.com/mcp'
  const registration = { ...provider, resource }
  const { privateKey } = await generateKeyPair('RS256')
  const broken = new Map<string, Parameters<typeof scripted.answers.set>[1]>([
    ['an error', (_request, response) => json(response, { error_description: client.randomState() }, 500)],
    ['HTML', (_request, response) => { response.end('<p>') }],
    ['no keys', (_request, response) => json(response, { keys: [] })],
    ['a broken connection', request => { request.socket.destroy() }]
  ])
  const tokens: Array<[string, (at: TokenRequest) => Promise<string>]> = [
    ['no JWT', async ({ good }) => good['access_token']!],
    ['no JWT, though it has three parts', async ({ good }) => `${good['access_token']}.${good['refresh_token']}.x`],
    ['for another resource', async ({ good, sign }) => await sign({ aud: good['access_token'] })],
    ['of another issuer', async ({ good, sign }) => await sign({ aud: resource, iss: good['access_token'] })],
    ['expired', async ({ sign }) => await sign({ aud: resource, exp: 1 })],
    ['signed by another key', async ({ sign }) => await sign({ aud: resource }, privateKey)],
    ...[...broken.keys()].map((title): [string, (at: TokenRequest) => Promise<string>] => [title, async ({ sign }) => await sign({ aud: resource })])
  ]
  for (const [title, make] of tokens) {
    scripted.script = { answer: async at => json(at.response, { ...at.good, access_token: await make(at) }) }
    // The keys are asked for once for each configuration.
    const fresh = broken.has(title) ? await createConfigurations()(provider) : configuration
    const tokens = await redeemCode(fresh, provider, await begin())
    if (broken.has(title)) scripted.answers.set('/jwks', broken.get(title)!)
    const error = await failure(readUser(fresh, registration, tokens))
    scripted.answers.delete('/jwks')
    t.match(error, { code: 'FST_MCP_CONNECT_EXCHANGE_FAILED', message: /the access token for .* cannot be used/ }, title)
    t.strictSame(secrets.find(prints(error)), [], title)
  }
})
