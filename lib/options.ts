import { z } from 'zod'
import { OptionsError } from './errors.js'
import { isSecure } from './loopback.js'
import { defineProvider } from './providers/define-provider.js'
import type { BrowserIdentity, Claims, McpConnectOptions, Principal, Provider, ProviderDefinition, Store, TokenVault } from './types.js'
import { parseSecret } from './vault/secret.js'

/** The options, checked and complete. */
export interface Settings {
  readonly baseUrl: URL
  readonly prefix: string
  readonly name: string
  readonly store: Store
  readonly vault: TokenVault
  readonly keys: readonly [Buffer, ...Buffer[]]
  readonly principal: (claims: Claims) => unknown
  readonly browser: BrowserIdentity
  readonly providers: ReadonlyMap<string, Provider>
  readonly authorize: (principal: Principal, provider: string) => Promise<boolean> | boolean
  readonly whenCapabilityUnknown: 'fallback' | 'elicit'
  readonly elicitationTtlMs: number
  readonly declineCoolDownMs: number
}

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

const baseUrl = z.string().refine(URL.canParse, 'must be an absolute URL, such as https://mcp.example.com')
  .transform(value => new URL(value))
  .refine(url => isSecure(url, true), 'must be https: (http: is for localhost only)')
  .refine(({ username, password, search, hash }) => username + password + search + hash === '',
    'must not have a user, a password, a query or a fragment')

const KEYS = 'must be a list of keys, the newest first; make one with: openssl rand -base64 32'

const key = z.string(KEYS).transform((value, context) => {
  const secret = parseSecret(value)
  if (typeof secret !== 'string') return secret
  context.addIssue(secret)
  return z.NEVER
})

const schema = z.strictObject({
  baseUrl,
  prefix: z.string().regex(/^(\/[a-z0-9_-]+)+$/i, 'must be a path such as /connect: a leading slash, no trailing one').default('/connect'),
  name: z.string().min(1).max(100).regex(/^[^\p{Cc}\p{Cf}]*$/u, 'must not hold control or formatting characters').optional(),
  store: z.custom<Store>(isStore, 'must be a store: memoryStore(), or an object { vault, state, bus, close }'),
  vault: z.custom<TokenVault>(isVault, 'must be a vault: an object { get, put, delete, list }').optional(),
  keys: z.tuple([key], key, KEYS),
  principal: fn<(claims: Claims) => unknown>('must be a function from claims to { issuer, subject, tenant? }')
    .default(() => (claims: Claims) => ({ issuer: claims['iss'], subject: claims['sub'] })),
  browser: z.custom<BrowserIdentity>(value => hasMethods(value, ['identify']),
    'must be an object with identify(request), which tells who is signed in in the browser; without it nobody could be told apart from who asked'),
  providers: z.record(z.string().regex(/^[a-z0-9_-]{1,64}$/i, 'must be a key of letters, digits, _ and -'), z.custom<ProviderDefinition>()),
  authorize: fn<(principal: Principal, provider: string) => boolean>('must be a function (principal, provider) => boolean').default(() => () => true),
  whenCapabilityUnknown: z.enum(['fallback', 'elicit']).default('fallback'),
  elicitationTtlMs: z.int().min(MINUTE_MS).max(DAY_MS).default(15 * MINUTE_MS),
  declineCoolDownMs: z.int().min(0).max(DAY_MS).default(5 * MINUTE_MS)
})

/**
 * Checks the options and fills in the defaults.
 * @throws FST_MCP_CONNECT_OPTIONS with the option's path and the mend
 */
export function resolveOptions (options: McpConnectOptions): Settings {
  const result = schema.safeParse(options)
  if (!result.success) throw new OptionsError(z.prettifyError(result.error))
  const { name, vault, providers, ...rest } = result.data
  return Object.freeze({
    ...rest,
    name: name ?? rest.baseUrl.host,
    vault: vault ?? rest.store.vault,
    providers: new Map(Object.entries(providers).map(([key, definition]) => [key, defineProvider(definition)]))
  })
}

function fn<F extends (...args: never[]) => unknown> (message: string): z.ZodType<F> {
  return z.custom<F>(value => typeof value === 'function', message)
}

function isStore (value: unknown): boolean {
  return hasMethods(value, ['close']) && isVault((value as Store).vault) &&
    hasMethods((value as Store).state, ['get', 'put', 'delete', 'count']) && hasMethods((value as Store).bus, ['publish', 'subscribe'])
}

function isVault (value: unknown): boolean {
  return hasMethods(value, ['get', 'put', 'delete', 'list'])
}

function hasMethods (value: unknown, names: readonly string[]): boolean {
  return typeof value === 'object' && value !== null && names.every(name => typeof (value as Record<string, unknown>)[name] === 'function')
}
