import Fastify from 'fastify'
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { allowLoopbackHttp, defineProvider, github, mcpConnect, memoryStore, oidcLogin } from '../lib/index.js'
import { resolveOptions } from '../lib/options.js'
import type { McpConnectOptions } from '../lib/types.js'

const good = (): McpConnectOptions => ({
  baseUrl: 'https://mcp.example.com',
  store: memoryStore(),
  keys: [randomBytes(32).toString('base64')],
  browser: { identify: () => null },
  providers: { github: github({ clientId: 'id', clientSecret: 'secret' }) }
})

async function register (options: object): Promise<Error | null> {
  const app = Fastify()
  app.register(mcpConnect, options as McpConnectOptions)
  try {
    await app.ready()
    return null
  } catch (error) {
    return error as Error
  } finally {
    await app.close()
  }
}

t.test('good options, in their shortest form and in their longest', async t => {
  t.equal(await register(good()), null)
  t.equal(await register({
    ...good(),
    baseUrl: 'https://mcp.example.com/behind/a/proxy/',
    prefix: '/my/connections',
    name: 'Example',
    vault: memoryStore().vault,
    keys: [`${randomBytes(32).toString('base64')}\n`, randomBytes(40).toString('base64url'), randomBytes(32).toString('hex')],
    principal: () => ({ issuer: 'x', subject: 'y' }),
    authorize: () => true,
    whenCapabilityUnknown: 'elicit',
    elicitationTtlMs: 60_000,
    declineCoolDownMs: 0
  }), null)
})

const refusals: ReadonlyArray<readonly [name: string, change: object, path: string, mend: RegExp]> = [
  ['an unknown key', { baseURL: 'https://x.example' }, '', /unknown: baseURL; known are: baseUrl, prefix/],
  ['no base URL', { baseUrl: undefined }, 'baseUrl', /must be the public base URL/],
  ['a relative base URL', { baseUrl: '/mcp' }, 'baseUrl', /such as https:/],
  ['BRW-18 http off loopback', { baseUrl: 'http://mcp.example.com' }, 'baseUrl', /must start with https/],
  ['a base URL without a scheme', { baseUrl: 'localhost:3000' }, 'baseUrl', /must start with https:\/\/ \(http:\/\//],
  ['BRW-18 a host that only looks like loopback', { baseUrl: 'http://localhost.example.com' }, 'baseUrl', /must start with https/],
  ['a base URL with a query', { baseUrl: 'https://mcp.example.com/?x' }, 'baseUrl', /must not have/],
  ['a base URL with a user', { baseUrl: 'https://user@mcp.example.com' }, 'baseUrl', /must not have/],
  ['a base URL with a fragment', { baseUrl: 'https://mcp.example.com/#x' }, 'baseUrl', /must not have/],
  ['a name that reorders text', { name: 'a\u202Eb' }, 'name', /control or formatting/],
  ['a lifetime of a week', { elicitationTtlMs: 7 * 86_400_000 }, 'elicitationTtlMs', /a day/],
  ['VLT-12 a known example, in other case', { keys: ['Complex_Password_At_Least_32_Characters_Long'] }, 'keys\\[0\\]', /example from documentation/],
  ['a prefix without a slash', { prefix: 'connect' }, 'prefix', /leading slash/],
  ['a prefix that is the root', { prefix: '/' }, 'prefix', /leading slash/],
  ['no store', { store: undefined }, 'store', /memoryStore\(\)/],
  ['a store without close', { store: { ...memoryStore(), close: undefined } }, 'store', /memoryStore\(\)/],
  ['a store with a part missing', { store: { ...memoryStore(), bus: {} } }, 'store.bus', /publish, subscribe/],
  ['a part that lost its methods', { store: { ...memoryStore(), state: { get () {}, put () {} } } }, 'store.state', /get, put, delete, count/],
  ['a vault with a method missing', { vault: { get () {}, put () {}, delete () {} } }, 'vault', /get, put, delete, list/],
  ['a key that is not set', { keys: [undefined] }, 'keys\\[0\\]', /environment variable/],
  ['no keys', { keys: [] }, 'keys', /must be a list of keys.*openssl rand -base64 32/],
  ['keys that are none', { keys: 'secret' }, 'keys', /openssl rand -base64 32/],
  ['VLT-12 a short key', { keys: [randomBytes(16).toString('base64')] }, 'keys\\[0\\]', /is 16; make one with/],
  ['VLT-12 a key of zeros', { keys: [Buffer.alloc(32).toString('base64')] }, 'keys\\[0\\]', /does not look random/],
  ['VLT-12 a key of zeros in hexadecimal', { keys: ['0'.repeat(64)] }, 'keys\\[0\\]', /does not look random/],
  ['VLT-12 a key of few different bytes', { keys: [Buffer.from('abababABABABabababABABABabababABABAB').toString('base64')] }, 'keys\\[0\\]', /does not look random/],
  ['VLT-12 a phrase in base64', { keys: [Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')] }, 'keys\\[0\\]', /does not look random/],
  ['VLT-12 numbers in a row', { keys: [Buffer.from(Array.from({ length: 32 }, (_, i) => i)).toString('base64')] }, 'keys\\[0\\]', /does not look random/],
  ['VLT-12 a known example', { keys: ['complex_password_at_least_32_characters_long'] }, 'keys\\[0\\]', /example from documentation/],
  ['VLT-12 the known example of iron-session', { keys: ['averylogphrasebiggerthanthirtytwochars'] }, 'keys\\[0\\]', /example from documentation/],
  ['VLT-12 the known example of @fastify/session', { keys: ['a secret with minimum length of 32 characters'] }, 'keys\\[0\\]', /example from documentation/],
  ['VLT-12 31 bytes', { keys: [randomBytes(31).toString('base64')] }, 'keys\\[0\\]', /is 31;/],
  ['VLT-12 24 bytes in hexadecimal, which would be 36 in base64', { keys: [randomBytes(24).toString('hex')] }, 'keys\\[0\\]', /is 24;/],
  ['VLT-12 the digits of pi', { keys: ['3141592653589793238462643383279502884197169399375105820974944592'] }, 'keys\\[0\\]', /does not look random/],
  ['VLT-12 letters from a to f', { keys: ['abacadaeafbabcbdbebfcacbcdcecfdadbdcdedfeaebecedeffafbfcfdfeaabb'] }, 'keys\\[0\\]', /does not look random/],
  ['VLT-12 a phrase in capital letters', { keys: ['THISISAREALLYLONGPHRASEWITHOUTANYRANDOMNESSATALL'] }, 'keys\\[0\\]', /does not look random/],
  ['VLT-12 15 different bytes', { keys: [Buffer.from(Array.from({ length: 32 }, (_, i) => (i % 15) ** 2 + 17)).toString('base64')] }, 'keys\\[0\\]', /does not look random/],
  ['VLT-12 a phrase', { keys: ['thisisareallylongphrasewithoutanyrandomnessatall'] }, 'keys\\[0\\]', /does not look random/],
  ['VLT-12 a weak older key', { keys: [randomBytes(32).toString('base64'), 'secret'] }, 'keys\\[1\\]', /is 4;/],
  ['a key with blanks', { keys: ['not base64 at all, but long enough to be a key'] }, 'keys\\[0\\]', /must be base64 or hexadecimal/],
  ['no browser identity', { browser: undefined }, 'browser', /identify\(request\)/],
  ['a browser identity of another shape', { browser: () => null }, 'browser', /identify\(request\)/],
  ['a principal that is no function', { principal: 'sub' }, 'principal', /function from claims/],
  ['an authorize that is no function', { authorize: true }, 'authorize', /must be a function/],
  ['a sign-in address that is no function', { browser: { identify () {}, signInUrl: '/login' } }, 'browser', /functions signInUrl/],
  ['a word that is no choice', { whenCapabilityUnknown: 'always' }, 'whenCapabilityUnknown', /fallback/],
  ['a lifetime in seconds', { elicitationTtlMs: 900 }, 'elicitationTtlMs', /milliseconds, from 60000/],
  ['a cool-down without an end', { declineCoolDownMs: Infinity }, 'declineCoolDownMs', /milliseconds, from 0/],
  ['a limit that is a number', { limits: { principal: 100 } }, 'limits.principal', /\{ max, windowMs \}/],
  ['a limit by the second', { limits: { address: { max: 1, windowMs: 60 } } }, 'limits.address', /from 1000 to/],
  ['a limit of none', { limits: { elicitations: { max: 0, windowMs: 60_000 } } }, 'limits.elicitations', /from 1, .*or false for none/],
  ['a limit of something else', { limits: { ip: false } }, 'limits', /unknown: ip; known are: address, principal, elicitations/],
  ['a cookie name with a blank', { cookieName: 'my cookie' }, 'cookieName', /letters, digits/],
  ['a decorator name with a dash', { decoratorName: 'mcp-connect' }, 'decoratorName', /such as mcpConnect/],
  ['oidcLogin without being called', { browser: oidcLogin }, 'browser', /must be oidcLogin\(\{ \.\.\. \}\)/],
  ['a login made by hand', { browser: { kind: 'oidc login', issuer: 'http://login.example.com', clientId: 'id' } }, '', /oidcLogin: .*https/],
  ['a cool-down in seconds', { declineCoolDownMs: 300 }, 'declineCoolDownMs', /from 1000; or 0 for none/],
  ['providers that are a list', { providers: [] }, 'providers', /object of providers by key/],
  ['a provider key with a slash', { providers: { 'a/b': {} } }, 'providers', /letters, digits/],
  ['a preset that was not called', { providers: { github } }, 'providers.github', /call it/],
  ['a provider that is no definition', { providers: { acme: null } }, 'providers.acme', /defineProvider/]
]

t.test('a provider key that is special in JavaScript is not lost', async t => {
  const providers = JSON.parse('{ "__proto__": { "name": "Acme", "issuer": "https://acme.example", "clientId": "id", "apiOrigins": ["https://api.acme.example"] } }')
  t.strictSame([...resolveOptions({ ...good(), providers }).providers.keys()], ['__proto__'])
})

t.test('bad options are refused at registration, with the path and the mend', async t => {
  for (const [name, change, path, mend] of refusals) {
    const error = await register({ ...good(), ...change })
    t.match(error, { code: 'FST_MCP_CONNECT_OPTIONS', message: mend }, name)
    if (path !== '') t.match(error?.message, new RegExp(`→ at ${path}`), name)
  }
  const secret = randomBytes(20).toString('base64')
  t.notMatch((await register({ ...good(), keys: [secret] }))?.message, secret, 'the key itself is not in the message')
})

const definition = { name: 'Acme', issuer: 'https://acme.example', clientId: 'id', apiOrigins: ['https://api.acme.example'] }

t.test('provider definitions', async t => {
  t.match(defineProvider(definition), { clientAuthentication: 'client_secret_basic', scopes: [], scopeSeparator: ' ', authorizationParameters: {} })
  t.ok(Object.isFrozen(defineProvider(definition)))
  t.strictSame(defineProvider(defineProvider(definition)), defineProvider(definition))
  for (const [change, path, mend] of [
    [{ isuer: 'x' }, '', /"Acme": .*unknown: isuer; known are: name, issuer/],
    [{ issuer: 'http://acme.example' }, 'issuer', /https/],
    [{ issuer: 'http://localhost:1' }, 'issuer', /allowLoopbackHttp/],
    [{ issuer: 'https://user:password@acme.example' }, 'issuer', /without user/],
    [{ endpoints: { authorization: 'https://acme.example/a', token: 'http://acme.example/t' } }, 'endpoints.token', /https/],
    [{ scopes: 'a' }, 'scopes', /list of scopes, such as/],
    [{ clientAuthentication: 'client_secret_jwt' }, 'clientAuthentication', /one of: client_secret_basic/],
    [{ clientAuthentication: 'private_key_jwt' }, 'clientAuthentication', /needs a privateKey/],
    [{ scopeSeparator: ';' }, 'scopeSeparator', /must be/],
    [{ endpoints: 'https://acme.example' }, 'endpoints', /object of: authorization, token/],
    [{ authorizationParameters: { x: 1 } }, 'authorizationParameters.x', /must be a string/],
    [{ scopes: ['a b'] }, 'scopes\\[0\\]', /one scope/],
    [{ clientSecret: '' }, 'clientSecret', /leave the key out/],
    [{ clientSecret: undefined }, 'clientSecret', /environment variable.*leave the key out/],
    [{ clientId: undefined }, 'clientId', /environment variable/],
    [{ issuer: 'https://acme.example/.well-known/openid-configuration' }, 'issuer', /the issuer itself/],
    [{ issuer: 'https://acme.example/#x' }, 'issuer', /fragment/],
    ...['client_id', 'response_type', 'response_mode', 'redirect_uri', 'scope', 'nonce', 'code_challenge', 'code_challenge_method', 'resource', 'request', 'request_uri']
      .map(name => [{ authorizationParameters: { [name]: 'x' } }, `authorizationParameters.${name}`, /set by the plugin/] as const),
    [{ authorizationParameters: { state: 'x' } }, 'authorizationParameters.state', /set by the plugin/],
    [{ apiOrigins: ['https://api.acme.example/'] }, 'apiOrigins', /without a path/],
    [{ apiOrigins: [] }, 'apiOrigins', /at least one/],
    [{ name: 'Ac\u202Eme' }, 'name', /control or formatting/]
  ] as const) {
    t.throws(() => defineProvider({ ...definition, ...change } as never), { code: 'FST_MCP_CONNECT_OPTIONS', message: mend })
    if (path !== '') t.throws(() => defineProvider({ ...definition, ...change } as never), { message: new RegExp(`→ at ${path}`) })
  }
})

t.test('oidcLogin', async t => {
  const login = { issuer: 'https://login.example.com', clientId: 'id' }
  t.strictSame({ ...oidcLogin(login) }, {
    ...login,
    clientAuthentication: 'client_secret_basic',
    scopes: ['openid', 'profile', 'email'],
    authorizationParameters: {},
    privateHosts: [],
    idleTtlMs: 1_800_000,
    absoluteTtlMs: 28_800_000,
    [allowLoopbackHttp]: false,
    kind: 'oidc login'
  })
  t.ok(Object.isFrozen(oidcLogin(login)) && Object.isFrozen(oidcLogin(login).scopes))
  t.strictSame(oidcLogin({ ...login, scopes: ['mcp:tools'] }).scopes, ['openid', 'mcp:tools'])
  t.strictSame(resolveOptions({ ...good(), browser: oidcLogin(login) }).browser, oidcLogin(login))
  for (const [change, path, mend] of [
    [{ isuer: 'x' }, '', /oidcLogin: .*unknown: isuer; known are: issuer, clientId/],
    [{ issuer: undefined }, 'issuer', /https/],
    [{ issuer: 'http://localhost:1' }, 'issuer', /allowLoopbackHttp/],
    [{ clientId: undefined }, 'clientId', /environment variable/],
    [{ clientSecret: undefined }, 'clientSecret', /leave the key out/],
    [{ scopes: 'openid' }, 'scopes', /list of scopes/],
    [{ resource: 'mcp' }, 'resource', /absolute https/],
    [{ authorizationParameters: { max_age: '60' } }, 'authorizationParameters.max_age', /set by the plugin/],
    [{ idleTtlMs: 1800 }, 'idleTtlMs', /milliseconds, from 60000 to 86400000 \(a day\)/],
    [{ absoluteTtlMs: Infinity }, 'absoluteTtlMs', /milliseconds, from 60000 to 2592000000 \(30 days\)/]
  ] as const) {
    t.throws(() => oidcLogin({ ...login, ...change } as never), { code: 'FST_MCP_CONNECT_OPTIONS', message: mend })
    if (path !== '') t.throws(() => oidcLogin({ ...login, ...change } as never), { message: new RegExp(`→ at ${path}`) })
  }
  t.throws(() => oidcLogin(undefined as never), { code: 'FST_MCP_CONNECT_OPTIONS', message: /must be an object of: issuer/ })
})

t.test('a definition that is none', async t => {
  t.throws(() => defineProvider(undefined as never), { code: 'FST_MCP_CONNECT_OPTIONS', message: /must be an object of: name, issuer/ })
})

t.test('github: pinned endpoints, the issuer that GitHub names in its responses, comma-joined scopes', async t => {
  t.match(github({ clientId: 'id', clientSecret: 'secret', scopes: ['repo'] }), {
    name: 'GitHub',
    issuer: 'https://github.com/login/oauth',
    endpoints: { authorization: 'https://github.com/login/oauth/authorize', token: 'https://github.com/login/oauth/access_token' },
    clientAuthentication: 'client_secret_post',
    scopes: ['repo'],
    scopeSeparator: ','
  })
})

t.test('github: what is missing or unknown is refused', async t => {
  t.throws(() => github({ clientId: 'id', clientSecret: undefined as never }), { code: 'FST_MCP_CONNECT_OPTIONS', message: /clientSecret/ })
  t.throws(() => github({ clientId: 'id', clientSecret: 'x', apiOrigins: [] } as never), { message: /unknown: apiOrigins; known are/ })
})

t.test('a host whose router is too narrow for the links is refused', async t => {
  for (const router of [{ maxParamLength: 20 }, { routerOptions: { maxParamLength: 20 } }]) {
    const app = Fastify(router)
    t.teardown(() => app.close())
    await t.rejects(async () => await app.register(mcpConnect, good()), { code: 'FST_MCP_CONNECT_OPTIONS', message: /maxParamLength.*64 or more/ })
  }
  const wide = Fastify({ maxParamLength: 64 })
  t.teardown(() => wide.close())
  await t.resolves(async () => await wide.register(mcpConnect, good()))
})

t.test('the plugin is registered once under one name', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(mcpConnect, good())
  await t.rejects(async () => await app.register(mcpConnect, good()), { code: 'FST_MCP_CONNECT_OPTIONS', message: /another decoratorName/ })
})
