import { z } from 'zod'
import { OptionsError } from './errors.js'
import { isSecure } from './loopback.js'
import { isOidcLogin, oidcLogin } from './oidc-login.js'
import { defineProvider } from './providers/define-provider.js'
import { withoutRegistration } from './providers/tenant-registrations.js'
import { displayText, durationSchema, objectErrors } from './schemas.js'
import type { Store, TokenVault } from './storage.js'
import type { BrowserIdentity, Claims, LimitOption, Limits, McpConnectOptions, OidcLogin, Provider, ProviderDefinition, TenantProvider, TenantProviderDefinition } from './types.js'
import { parseSecret } from './vault/secret.js'

type Undefaulted = 'onAudit' | 'clientSupportsUrl'

/** The options, checked and complete. */
export interface Settings extends Omit<Required<McpConnectOptions>, 'baseUrl' | 'keys' | 'providers' | 'limits' | Undefaulted>, Pick<McpConnectOptions, Undefaulted> {
  readonly baseUrl: URL
  readonly keys: readonly [Buffer, ...Buffer[]]
  readonly limits: Required<Limits>
  readonly providers: ReadonlyMap<string, Provider | TenantProvider>
}

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const BASE_URL = 'must be the public base URL of this server, such as https://mcp.example.com'
const KEYS = 'must be a list of keys, the newest first; make one with: openssl rand -base64 32'
const BROWSER = 'must be oidcLogin({ ... }), or an object with the function identify(request), which tells who is signed in in the browser ' +
  '(without it nobody could be told apart from who asked), and, if any, the functions signInUrl(returnTo) and switchAccountUrl(returnTo)'
const LIMIT = 'must be { max, windowMs }: so many, from 1, in so many milliseconds, from 1000 to 86400000 (a day); or false for none'
const COOKIE_NAME = 'must be the beginning of the cookies\' names: 1 to 40 letters, digits, _ and -'
const DECORATOR_NAME = 'must be a name such as mcpConnect'

const baseUrl = z.string(BASE_URL).refine(URL.canParse, BASE_URL)
  .transform(value => new URL(value))
  .refine(url => isSecure(url, true), 'must start with https:// (http:// is for localhost and 127.0.0.1 only)')
  .refine(({ username, password, search, hash }) => username + password + search + hash === '',
    'must not have a user, a password, a query or a fragment')

const key = z.string('is missing: is its environment variable set? Make one with: openssl rand -base64 32').transform((value, context) => {
  const secret = parseSecret(value.trim())
  if (typeof secret !== 'string') return secret
  context.addIssue(secret)
  return z.NEVER
})

// Not a record of zod's: that drops a key named __proto__ without a word.
const providers = z.custom<Record<string, ProviderDefinition | TenantProviderDefinition>>(value => typeof value === 'object' && value !== null && !Array.isArray(value),
  'must be an object of providers by key').transform((definitions, context) => {
  const checked = new Map<string, Provider | TenantProvider>()
  for (const [key, definition] of Object.entries(definitions)) {
    const refuse = (message: string): void => context.addIssue({ code: 'custom', path: [key], message })
    if (!/^[a-z0-9_-]{1,64}$/i.test(key)) refuse('is no key for a provider: use letters, digits, _ and - (it stands in addresses)')
    else if (typeof definition === 'function') refuse('is a function; call it: github({ ... })')
    else if (typeof definition !== 'object' || definition === null) refuse('must be made by defineProvider or by a preset')
    else checked.set(key, checkProvider(definition))
  }
  return checked
})

/** A registration that all have is checked now, and not when it is needed. */
function checkProvider (definition: ProviderDefinition | TenantProviderDefinition): Provider | TenantProvider {
  const provider = defineProvider(definition)
  if ('registration' in provider && provider.clientId !== undefined) withoutRegistration(provider)
  return provider
}

const METHODS = { vault: ['get', 'put', 'delete', 'list'], state: ['get', 'put', 'delete', 'count'], bus: ['publish', 'subscribe'] } as const
const methods = (names: readonly string[]): string => `must be an object with the methods ${names.join(', ')}`

const store = z.custom<Store>(value => hasMethods(value, ['close']),
  'must be a store: that of sqliteStore(db), redisStore(client), postgresStore(pool) or memoryStore(), or an object { vault, state, bus, close }')
  .superRefine((store, context) => {
    for (const [part, names] of Object.entries(METHODS)) {
      if (!hasMethods(store[part as keyof Store], names)) context.addIssue({ code: 'custom', path: [part], message: methods(names) })
    }
  })

// A login is checked again: it may have been made by another copy of this package, or by hand.
const browser = z.custom<BrowserIdentity | OidcLogin>(value => isBrowserIdentity(value) || (typeof value === 'object' && value !== null && isOidcLogin(value)), BROWSER)
  .transform(value => {
    if (!isOidcLogin(value)) return value
    const { kind, ...options } = value
    return oidcLogin(options)
  })

const countSchema = z.strictObject({ max: z.int().min(1), windowMs: z.int().min(1000).max(DAY_MS) })
const limit = z.custom<LimitOption>(value => value === false || countSchema.safeParse(value).success, LIMIT)
const limitsShape = {
  address: limit.default({ max: 300, windowMs: MINUTE_MS }),
  principal: limit.default({ max: 120, windowMs: MINUTE_MS }),
  elicitations: limit.default({ max: 30, windowMs: 60 * MINUTE_MS })
}

const shape = {
  baseUrl,
  prefix: z.string().regex(/^(\/[a-z0-9_-]+)+$/i, 'must be a path such as /connect: a leading slash, no trailing one').default('/connect'),
  name: displayText(100).optional(),
  store,
  vault: z.custom<TokenVault>(value => hasMethods(value, METHODS.vault), methods(METHODS.vault)).optional(),
  keys: z.array(key, KEYS).min(1, KEYS).transform(keys => keys as [Buffer, ...Buffer[]]),
  principal: functionSchema<Settings['principal']>('must be a function from claims to { issuer, subject, tenant? }')
    .default(() => (claims: Claims) => ({ issuer: claims['iss'], subject: claims['sub'] })),
  browser,
  providers,
  authorize: functionSchema<Settings['authorize']>('must be a function (principal, provider) => boolean').default(() => () => true),
  whenCapabilityUnknown: z.enum(['fallback', 'elicit'], 'must be "fallback" or "elicit"').default('fallback'),
  clientSupportsUrl: functionSchema<NonNullable<Settings['clientSupportsUrl']>>('must be a function (manifest) => boolean or undefined').exactOptional(),
  strictCapabilities: z.boolean('must be true or false').default(false),
  waitMs: durationSchema(0, 45_000).default(20_000),
  elicitationTtlMs: durationSchema(MINUTE_MS, DAY_MS).default(15 * MINUTE_MS),
  declineCoolDownMs: durationSchema(0, DAY_MS).refine(ms => ms === 0 || ms >= 1000, 'must be milliseconds, from 1000; or 0 for none').default(5 * MINUTE_MS),
  limits: z.strictObject(limitsShape, { error: objectErrors(Object.keys(limitsShape)) }).prefault({}),
  onAudit: functionSchema<NonNullable<Settings['onAudit']>>('must be a function (event) => void').exactOptional(),
  cookieName: z.string(COOKIE_NAME).regex(/^[a-z0-9_-]{1,40}$/i, COOKIE_NAME).default('mcp-connect'),
  decoratorName: z.string(DECORATOR_NAME).regex(/^[a-z_$][\w$]*$/i, DECORATOR_NAME).default('mcpConnect')
}
const schema = z.strictObject(shape, { error: objectErrors(Object.keys(shape)) })

/**
 * Checks the options and fills in the defaults.
 * @throws FST_MCP_CONNECT_OPTIONS with the option's path and how to fix it
 */
export function resolveOptions (options: McpConnectOptions): Settings {
  const result = schema.safeParse(options)
  if (!result.success) throw new OptionsError(z.prettifyError(result.error))
  const { name, vault, ...rest } = result.data
  return Object.freeze({ ...rest, name: name ?? rest.baseUrl.host, vault: vault ?? rest.store.vault })
}

function functionSchema<F extends (...args: never[]) => unknown> (message: string): z.ZodType<F> {
  return z.custom<F>(value => typeof value === 'function', message)
}

function isBrowserIdentity (value: unknown): boolean {
  if (!hasMethods(value, ['identify'])) return false
  const { signInUrl, switchAccountUrl } = value as BrowserIdentity
  return [signInUrl, switchAccountUrl].every(one => ['function', 'undefined'].includes(typeof one))
}

function hasMethods (value: unknown, names: readonly string[]): boolean {
  return typeof value === 'object' && value !== null && names.every(name => typeof (value as Record<string, unknown>)[name] === 'function')
}
