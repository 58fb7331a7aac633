/*
 * The plugin's options: all of them, and mistakes in each.
 */
import Fastify from 'fastify'
import { createPrivateKey } from 'node:crypto'
import plugin, {
  airtable, allowLoopbackHttp, atlassian, box, defineProvider, discord, dropbox, figma, github, gitlab, google, hubspot, linear, mcpConnect, memoryStore,
  microsoft, notion, slack, spotify, zoom,
  type AtProvider, type AuditEvent, type AuditEventName, type AuditIds, type BrowserIdentity, type BrowserUser, type Disconnected, type GitlabRegistration, type LimitOption, type Limits, type McpConnect, type McpConnectOptions, type MicrosoftRegistration,
  type PresetRegistration, type Principal, type Provider, type RemovalReport, type Store
} from 'fastify-mcp-connect'
import { expect, type Equal } from './equal.js'

const app = Fastify()

const required = {
  baseUrl: 'https://mcp.example.com',
  store: memoryStore(),
  keys: ['key'],
  browser: { identify: () => null },
  providers: {}
} satisfies McpConnectOptions

expect<Equal<typeof plugin, typeof mcpConnect>>()
await app.register(plugin, required)
await app.register(mcpConnect, {
  ...required,
  prefix: '/connect',
  name: 'Example',
  vault: memoryStore().vault,
  onAudit (event) {
    expect<Equal<typeof event, AuditEvent>>()
    expect<Equal<typeof event.event, AuditEventName>>()
    expect<Equal<typeof event.at, number>>()
    if (event.event === 'guard.blocked') expect<Equal<typeof event.providers, readonly string[]>>()
    if (event.event === 'elicitation.created') expect<Equal<typeof event.client, string | undefined>>()
    if (event.event === 'elicitation.subject_mismatch') expect<Equal<typeof event.principal, string>>()
    if (event.event === 'exchange.stored') expect<Equal<typeof event.attempt, string>>()
    // @ts-expect-error: of whom it is, is known of some only
    expect<Equal<typeof event.principal, string>>()
  },
  keys: ['newest', 'older'] as const,
  principal: claims => {
    expect<Equal<typeof claims['sub'], unknown>>()
    return { issuer: 'https://login.example.com', subject: String(claims['oid']), tenant: String(claims['tid']) }
  },
  browser: {
    async identify (request, reply) {
      reply.header('vary', 'cookie')
      return typeof request.headers.cookie === 'string' ? { issuer: 'https://login.example.com', subject: 'a', label: 'a@example.com' } : null
    },
    signInUrl: returnTo => `/login?returnTo=${encodeURIComponent(returnTo)}`,
    switchAccountUrl: returnTo => {
      expect<Equal<typeof returnTo, string>>()
      return `/switch?returnTo=${encodeURIComponent(returnTo)}`
    }
  },
  providers: {
    github: github({ clientId: 'client', clientSecret: 'secret', scopes: ['repo'] }),
    acme: defineProvider({
      name: 'Acme',
      issuer: 'http://localhost:4000',
      endpoints: { authorization: 'http://localhost:4000/auth', token: 'http://localhost:4000/token' },
      clientId: 'client',
      clientAuthentication: 'client_secret_post',
      refreshTokens: false,
      scopeSeparator: ',',
      resource: 'https://api.example.com',
      authorizationParameters: { access_type: 'offline' },
      privateHosts: ['login.corp.example'],
      apiOrigins: ['https://api.example.com'],
      [allowLoopbackHttp]: true
    }),
    signed: defineProvider({
      name: 'Signed', issuer: 'https://signed.example.com', clientId: 'client', privateKey: JSON.parse(String(process.env['KEY'])), clientAuthentication: 'private_key_jwt', apiOrigins: ['https://signed.example.com']
    }),
    pem: { name: 'PEM', issuer: 'https://pem.example.com', clientId: 'client', privateKey: { key: createPrivateKey('pem'), kid: '1', alg: 'PS256' }, apiOrigins: ['https://pem.example.com'] },
    tenants: defineProvider({
      name: 'Tenants',
      registration: async tenant => {
        expect<Equal<typeof tenant, string | undefined>>()
        return tenant === undefined ? null : { issuer: `https://${tenant}.example.com`, clientId: 'client', clientSecret: 'secret', apiOrigins: ['https://api.example.com'] }
      }
    }),
    preset: { ...github({ clientId: 'client', clientSecret: 'secret' }), registration: () => undefined },
    plain: { name: 'Plain', issuer: 'https://plain.example.com', clientId: 'client', apiOrigins: ['https://plain.example.com'] }
  },
  authorize: (principal, provider) => {
    expect<Equal<typeof principal, Principal>>()
    expect<Equal<typeof provider, string>>()
    return provider === 'github'
  },
  whenCapabilityUnknown: 'elicit',
  elicitationTtlMs: 60_000,
  declineCoolDownMs: 0,
  limits: { address: { max: 1000, windowMs: 60_000 }, principal: { max: 100, windowMs: 1000 }, elicitations: false },
  cookieName: 'example-connect',
  decoratorName: 'mcpConnect'
})

expect<Equal<typeof app.mcpConnect.connectionsUrl, string>>()
// @ts-expect-error
app.mcpConnect.connectionsUrl = 'https://other.example.com'
expect<Equal<typeof app.mcpConnect, McpConnect>>()
// @ts-expect-error Names of one's own are declared where they are chosen: see augmented/second-instance.ts.
app.other?.toString()

// What is left out
// @ts-expect-error
app.register(mcpConnect)
// @ts-expect-error
app.register(mcpConnect, {})
// @ts-expect-error
expect<{ baseUrl: string } extends McpConnectOptions ? true : false>()
type Required = 'baseUrl' | 'store' | 'keys' | 'browser' | 'providers'
expect<Equal<{ [K in keyof McpConnectOptions]-?: undefined extends McpConnectOptions[K] ? never : K }[keyof McpConnectOptions], Required>>()

expect<Equal<ReturnType<typeof app.mcpConnect.redirectUri>, string>>()
app.mcpConnect.redirectUri('tenants', 'https://tenant.example.com')

// What is wrong
// @ts-expect-error Without a registration there is a clientId.
defineProvider({ name: 'Acme', issuer: 'https://acme.example', apiOrigins: [] })
// @ts-expect-error A PEM is no key yet.
defineProvider({ name: 'Acme', issuer: 'https://acme.example', clientId: 'client', apiOrigins: [], privateKey: 'pem' })
// @ts-expect-error Symmetric keys sign nothing here.
defineProvider({ name: 'Acme', issuer: 'https://acme.example', clientId: 'client', apiOrigins: [], clientAuthentication: 'client_secret_jwt' })
// @ts-expect-error
defineProvider({ name: 'Acme', registration: (tenant: number) => ({ clientId: String(tenant) }) })
declare function check (options: McpConnectOptions): void
// @ts-expect-error
check({ ...required, baseUrl: new URL('https://mcp.example.com') })
// @ts-expect-error
check({ ...required, baseURL: 'https://mcp.example.com' })
// @ts-expect-error
check({ ...required, keys: 'key' })
// @ts-expect-error
check({ ...required, keys: [Buffer.alloc(32)] })
// @ts-expect-error
check({ ...required, store: memoryStore })
// @ts-expect-error
check({ ...required, vault: memoryStore() })
// @ts-expect-error A function, not an object with identify.
check({ ...required, browser: () => null })
// @ts-expect-error Whether somebody is signed in is not enough.
check({ ...required, browser: { identify: () => true } })
// @ts-expect-error A principal has an issuer, too.
check({ ...required, browser: { identify: () => ({ subject: 'a' }) } })
// @ts-expect-error Nobody is null.
check({ ...required, browser: { identify: () => undefined } })
// The claims are not known before they are looked at; the plugin looks at what the function gives.
check({ ...required, principal: claims => ({ issuer: claims['iss'], subject: claims['sub'] }) })
// @ts-expect-error
check({ ...required, principal: claims => claims['sub'] })
// @ts-expect-error
check({ ...required, principal: claims => ({ subject: claims['sub'] }) })
// @ts-expect-error
check({ ...required, providers: [github({ clientId: 'client', clientSecret: 'secret' })] })
// @ts-expect-error
check({ ...required, providers: { acme: { name: 'Acme', issuer: 'https://acme.example.com', clientId: 'client' } } })
// @ts-expect-error
check({ ...required, authorize: () => 'yes' })
// @ts-expect-error
check({ ...required, whenCapabilityUnknown: 'ask' })
// @ts-expect-error
check({ ...required, elicitationTtlMs: '15m' })
// @ts-expect-error
check({ ...required, ttl: 1000 })
// @ts-expect-error
check({ ...required, browser: { identify: () => null, signInUrl: '/login' } })
// @ts-expect-error
check({ ...required, browser: { identify: () => null, switchAccountUrl: '/switch' } })
// @ts-expect-error
check({ ...required, browser: { identify: () => null, switchAccountUrl: () => null } })
// @ts-expect-error
check({ ...required, browser: { identify: () => null, signOutUrl: () => '/sign-out' } })
// @ts-expect-error It is the beginning of a name, not an attribute.
check({ ...required, cookieName: { name: 'connect' } })
// @ts-expect-error Fastify takes symbols; the types of an application could not name one.
check({ ...required, decoratorName: Symbol('connect') })

// Limits
const limit: LimitOption = { max: 10, windowMs: 1000 }
const limits: Limits = { address: limit }
check({ ...required, limits })
check({ ...required, limits: {} })
check({ ...required, limits: { address: false, principal: false, elicitations: false } })
// @ts-expect-error Each is lifted by itself.
check({ ...required, limits: false })
// @ts-expect-error Off is false; there is no on without numbers.
check({ ...required, limits: { address: true } })
// @ts-expect-error
check({ ...required, limits: { address: 300 } })
// @ts-expect-error
check({ ...required, limits: { principal: { max: 100 } } })
// @ts-expect-error
check({ ...required, limits: { principal: { max: '100', windowMs: 1000 } } })
// @ts-expect-error
check({ ...required, limits: { elicitations: { max: 100, windowMs: '1h' } } })
// @ts-expect-error As the options of other rate limiters have it.
check({ ...required, limits: { elicitations: { max: 100, timeWindow: 1000 } } })
// @ts-expect-error
check({ ...required, limits: { ip: { max: 100, windowMs: 1000 } } })

// Sessions of oidcLogin
expect<Equal<ReturnType<typeof app.mcpConnect.auditIdsOf>, AuditIds>>()
expect<Equal<ReturnType<typeof app.mcpConnect.disconnect>, Promise<readonly Disconnected[]>>>()
await app.mcpConnect.disconnect({ issuer: 'https://login.example.com', subject: 'a' }, 'github', 'alice')
expect<Equal<Disconnected['atProvider'], AtProvider>>()
await app.mcpConnect.disconnect({ issuer: 'https://login.example.com', subject: 'a', tenant: 't' }, 'github')
// @ts-expect-error of which provider
await app.mcpConnect.disconnect({ issuer: 'https://login.example.com', subject: 'a' })
// @ts-expect-error an account is named
await app.mcpConnect.disconnect({ issuer: 'https://login.example.com', subject: 'a' }, 'github', 1)
expect<Equal<ReturnType<typeof app.mcpConnect.removePrincipal>, Promise<RemovalReport>>>()
await app.mcpConnect.removePrincipal({ issuer: 'https://login.example.com', subject: 'a' })
expect<Equal<RemovalReport['grants'], Readonly<Record<AtProvider, number>>>>()
// @ts-expect-error that is no principal
await app.mcpConnect.removePrincipal('a')
expect<Equal<ReturnType<typeof app.mcpConnect.revokeBrowserSessions>, Promise<void>>>()
await app.mcpConnect.revokeBrowserSessions({ issuer: 'https://login.example.com', subject: 'a' })
await app.mcpConnect.revokeBrowserSessions({ issuer: 'https://login.example.com', subject: 'a', tenant: 't' })
// @ts-expect-error A subject alone may be somebody else's elsewhere.
await app.mcpConnect.revokeBrowserSessions('a')
// @ts-expect-error
await app.mcpConnect.revokeBrowserSessions({ subject: 'a' })
// @ts-expect-error Claims are not a principal.
await app.mcpConnect.revokeBrowserSessions({ iss: 'https://login.example.com', sub: 'a' })

// Providers
expect<Equal<ReturnType<typeof github>, Provider>>()
// @ts-expect-error
github({ clientId: 'client' })
// @ts-expect-error
github({ clientId: 'client', clientSecret: 'secret', scopes: 'repo' })
// @ts-expect-error
github({ clientId: 'client', clientSecret: 'secret', issuer: 'https://github.com' })
for (const preset of [airtable, atlassian, box, discord, dropbox, figma, gitlab, google, hubspot, linear, notion, slack, spotify, zoom]) {
  expect<Equal<ReturnType<typeof preset>, Provider>>()
  preset({ clientId: 'client', clientSecret: 'secret' })
  // @ts-expect-error
  preset({ clientId: 'client' })
}
linear({ clientId: 'client', clientSecret: 'secret', scopes: ['read'] } satisfies PresetRegistration)
// @ts-expect-error
linear({ clientId: 'client', clientSecret: 'secret', scopes: 'read' })
gitlab({ clientId: 'client', clientSecret: 'secret', origin: 'https://gitlab.example.com' } satisfies GitlabRegistration)
// @ts-expect-error There is one Linear only.
linear({ clientId: 'client', clientSecret: 'secret', origin: 'https://linear.app' })
microsoft({ clientId: 'client', clientSecret: 'secret', tenant: '9188040d-6c67-4c5b-b112-36a304b66dad' } satisfies MicrosoftRegistration)
// @ts-expect-error The tenant is the issuer of its tokens.
microsoft({ clientId: 'client', clientSecret: 'secret' })
// @ts-expect-error Notion has no scopes.
notion({ clientId: 'client', clientSecret: 'secret', scopes: [] })
// @ts-expect-error
defineProvider({ name: 'Acme', issuer: 'https://acme.example.com', clientId: 'client', apiOrigins: 'https://acme.example.com' })
// @ts-expect-error
defineProvider({ name: 'Acme', issuer: 'https://acme.example.com', clientId: 'client', apiOrigins: [], clientAuthentication: 'none' })
// @ts-expect-error The switch is a symbol, so that it cannot come from a configuration file.
defineProvider({ name: 'Acme', issuer: 'https://acme.example.com', clientId: 'client', apiOrigins: [], allowLoopbackHttp: true })
// @ts-expect-error What is defined is frozen.
github({ clientId: 'client', clientSecret: 'secret' }).name = 'Other'

// A class can be the host's login.
class Login implements BrowserIdentity {
  async identify (): Promise<BrowserUser | null> {
    return null
  }
}
check({ ...required, browser: new Login() })

expect<Equal<ReturnType<typeof memoryStore>, Store>>()
