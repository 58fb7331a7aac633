import { z } from 'zod'
import { OptionsError } from './errors.js'
import type { AddressPolicy } from './ip-address.js'
import { allowLoopbackHttp } from './loopback.js'
import { completeClient, readPolicy, registrationShape } from './registration.js'
import { durationSchema, objectErrors, scopesSchema } from './schemas.js'
import type { OidcLogin, OidcLoginOptions } from './types.js'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

/**
 * A login for servers that have none of their own: sign-in at the authorization server that issues the access tokens of the MCP
 * endpoint (OpenID Connect Core 1.0 section 3.1). Its redirect URI is `<baseUrl>/connect/login/callback`.
 * @throws FST_MCP_CONNECT_OPTIONS with the path of what is wrong and how to fix it
 */
export function oidcLogin (options: OidcLoginOptions): OidcLogin {
  const policy = readPolicy(options)
  const result = optionsSchema(policy).safeParse(options)
  if (!result.success) throw new OptionsError(`oidcLogin: ${z.prettifyError(result.error)}`)
  const { scopes, ...rest } = result.data
  return Object.freeze({ ...rest, scopes: Object.freeze([...new Set(['openid', ...scopes])]), [allowLoopbackHttp]: policy.loopback, kind: 'oidc login' as const })
}

/** Whether somebody has made it with `oidcLogin`, of this copy of the package or of another. */
export function isOidcLogin (value: object): value is OidcLogin {
  return (value as Partial<OidcLogin>).kind === 'oidc login'
}

function optionsSchema (policy: AddressPolicy) {
  const shape = {
    ...registrationShape(policy),
    scopes: scopesSchema.readonly().default(['profile', 'email']),
    idleTtlMs: durationSchema(MINUTE_MS, DAY_MS).default(30 * MINUTE_MS),
    absoluteTtlMs: durationSchema(MINUTE_MS, 30 * DAY_MS).default(8 * 60 * MINUTE_MS)
  }
  return z.strictObject(shape, { error: objectErrors(Object.keys(shape)) }).transform(completeClient)
}
