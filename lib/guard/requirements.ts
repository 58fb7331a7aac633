import { z } from 'zod'
import { GuardOptionsError, UnknownProviderError } from '../errors.js'
import { clientText, objectErrors, scopesSchema } from '../schemas.js'
import type { RequireOptions } from '../decorator.js'
import type { Provider, TenantProvider } from '../types.js'

/** One connection that a handler needs. */
export interface Requirement {
  readonly key: string
  readonly provider: Pick<Provider, 'name'>
  /** Which account there, by its identifier or label; `undefined` for the default. */
  readonly account: string | undefined
  readonly scopes: readonly string[]
  readonly reason: string | undefined
}

/** A requirement whose account the arguments of a call may name. */
export type Requires = Omit<Requirement, 'account'> & Pick<RequireOptions, 'account'>

const ACCOUNT = 'must be an account\'s identifier or label at the provider, of 1 to 200 characters'
const accountSchema = z.string(ACCOUNT).min(1, ACCOUNT).max(200, ACCOUNT)

const shape = {
  scopes: scopesSchema.optional(),
  account: z.union([accountSchema, z.custom<Extract<RequireOptions['account'], Function>>(value => typeof value === 'function')], `${ACCOUNT}, or a function from the handler's arguments to it`).optional(),
  reason: clientText(200).optional()
}
const optionsSchema = z.strictObject(shape, { error: objectErrors(Object.keys(shape)) })

type Handler = (...args: any[]) => unknown

/**
 * Reads the arguments of `requireConnection`, in any of their forms, at the time of wrapping.
 * @throws FST_MCP_CONNECT_UNKNOWN_PROVIDER, FST_MCP_CONNECT_GUARD_OPTIONS
 */
export function parseRequirements (providers: ReadonlyMap<string, Provider | TenantProvider>, args: readonly unknown[]):
{ readonly requirements: readonly Requires[], readonly single: boolean, readonly handler: Handler } {
  if (args.length > 3) throw new GuardOptionsError('takes a provider or a list of providers, options if any, and the handler')
  const [wanted] = args
  const [options, handler] = args.length > 2 ? [args[1], args[2]] : [{}, args[1]]
  const single = typeof wanted === 'string'
  const keys: unknown = single ? [wanted] : wanted
  if (!Array.isArray(keys) || keys.length === 0) throw new GuardOptionsError('the first argument must be a provider or a list of providers')
  if (new Set(keys).size < keys.length) throw new GuardOptionsError('a provider is named twice')
  if (typeof handler !== 'function') throw new GuardOptionsError('the last argument must be the handler')
  if (typeof options !== 'object' || options === null) throw new GuardOptionsError('the options must be an object')
  const byKey: Record<string, unknown> = single ? { [wanted]: options } : options as Record<string, unknown>
  const stray = Object.keys(byKey).find(key => !keys.includes(key))
  if (stray !== undefined) {
    throw new GuardOptionsError(`options for "${stray}", which is not among the required providers; with a list, options are by provider: { ${keys[0]}: { scopes: [...] } }`)
  }
  const requirements = keys.map(key => {
    const provider = providers.get(key)
    if (provider === undefined) throw new UnknownProviderError(String(key), [...providers.keys()].join(', '))
    const result = optionsSchema.safeParse(Object.hasOwn(byKey, key) ? byKey[key] ?? {} : {})
    if (!result.success) throw new GuardOptionsError(`${key}: ${z.prettifyError(result.error)}`)
    const { scopes = [], account, reason } = result.data
    return { key, provider, account, scopes: [...new Set([...provider.scopes, ...scopes])], reason }
  })
  return { requirements, single, handler: handler as Handler }
}

/**
 * The requirements of one call.
 * @param args what the SDK passes to the handler
 * @throws FST_MCP_CONNECT_GUARD_OPTIONS when `account` gives something else than it must
 */
export function resolveAccounts (requires: readonly Requires[], args: readonly unknown[]): readonly Requirement[] {
  return requires.map(({ account, ...others }) => {
    const result = accountSchema.optional().safeParse(typeof account === 'function' ? account(...args) : account)
    if (!result.success) throw new GuardOptionsError(`${others.key}: account(...args) ${ACCOUNT}, or undefined for the default`)
    return { ...others, account: result.data }
  })
}
