/*
 * The login that the package brings: its options, and mistakes in each.
 */
import { allowLoopbackHttp, mcpConnect, memoryStore, oidcLogin, type BrowserIdentity, type McpConnectOptions, type OidcLogin, type OidcLoginOptions } from 'fastify-mcp-connect'
import Fastify from 'fastify'
import { expect, type Equal } from './equal.js'

const required = { issuer: 'https://login.example.com', clientId: 'client' } satisfies OidcLoginOptions

// All options
const login = oidcLogin({
  ...required,
  clientSecret: 'secret',
  clientAuthentication: 'client_secret_post',
  scopes: ['openid', 'profile'] as const,
  resource: 'https://mcp.example.com/mcp',
  authorizationParameters: { acr_values: 'urn:example:strong' },
  idleTtlMs: 10 * 60_000,
  absoluteTtlMs: 24 * 60 * 60_000,
  [allowLoopbackHttp]: true
})
expect<Equal<typeof login, OidcLogin>>()
expect<Equal<Parameters<typeof oidcLogin>, [options: OidcLoginOptions]>>()

// What is made is complete, and stays as it is.
expect<Equal<typeof login.scopes, readonly string[]>>()
expect<Equal<typeof login.idleTtlMs, number>>()
expect<Equal<typeof login.clientSecret, string | undefined>>()
// @ts-expect-error
login.clientId = 'other'
// @ts-expect-error
login.scopes.push('email')

// It is what the plugin takes.
const options: Omit<McpConnectOptions, 'browser'> = { baseUrl: 'https://mcp.example.com', store: memoryStore(), keys: ['key'], providers: {} }
expect<Equal<McpConnectOptions['browser'], BrowserIdentity | OidcLogin>>()
await Fastify().register(mcpConnect, { ...options, browser: oidcLogin(required) })
declare function check (options: McpConnectOptions): void
// @ts-expect-error The options of the login are not yet a login.
check({ ...options, browser: required })
// @ts-expect-error The function that makes it is not, either.
check({ ...options, browser: oidcLogin })
// @ts-expect-error
check({ ...options, browser: [oidcLogin(required)] })
// @ts-expect-error It says who is signed in by itself.
oidcLogin(required).identify?.toString()

// What is left out
type Needed = { [K in keyof OidcLoginOptions]-?: undefined extends OidcLoginOptions[K] ? never : K }[keyof OidcLoginOptions]
expect<Equal<Needed, 'issuer' | 'clientId'>>()
// @ts-expect-error
oidcLogin()
// @ts-expect-error
oidcLogin({ issuer: 'https://login.example.com' })
// @ts-expect-error
oidcLogin({ clientId: 'client', clientSecret: 'secret' })
// @ts-expect-error An environment variable may be missing.
oidcLogin({ ...required, clientId: process.env['CLIENT_ID'] })

// What is wrong
// @ts-expect-error
oidcLogin({ ...required, issuer: new URL('https://login.example.com') })
// @ts-expect-error
oidcLogin({ ...required, clientSecret: Buffer.from('secret') })
// @ts-expect-error A public client leaves the secret out.
oidcLogin({ ...required, clientAuthentication: 'none' })
oidcLogin({ ...required, clientAuthentication: 'private_key_jwt', privateKey: { kty: 'EC' } })
// @ts-expect-error
oidcLogin({ ...required, clientAuthentication: 'client_secret_jwt' })
// @ts-expect-error A list of scopes, not the wire's string.
oidcLogin({ ...required, scopes: 'openid profile' })
// @ts-expect-error
oidcLogin({ ...required, resource: ['https://mcp.example.com/mcp'] })
// @ts-expect-error
oidcLogin({ ...required, authorizationParameters: { max_age: 60 } })
// @ts-expect-error
oidcLogin({ ...required, authorizationParameters: new URLSearchParams({ max_age: '60' }) })
// @ts-expect-error
oidcLogin({ ...required, idleTtlMs: '30m' })
// @ts-expect-error
oidcLogin({ ...required, absoluteTtlMs: '28800' })
// @ts-expect-error Milliseconds, as everywhere.
oidcLogin({ ...required, idleTtl: 1800 })
// @ts-expect-error The redirect URI follows from baseUrl.
oidcLogin({ ...required, redirectUri: 'https://mcp.example.com/connect/login/callback' })
// @ts-expect-error The switch is a symbol, so that it cannot come from a configuration file.
oidcLogin({ ...required, allowLoopbackHttp: true })
// @ts-expect-error
oidcLogin({ ...required, [allowLoopbackHttp]: 'yes' })
