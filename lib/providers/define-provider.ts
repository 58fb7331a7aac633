import { z } from 'zod'
import { OptionsError } from '../errors.js'
import type { AddressPolicy } from '../ip-address.js'
import { allowLoopbackHttp } from '../loopback.js'
import { completeClient, endpointSchema, OWN_PARAMETERS, readPolicy, registrationShape, urlSchema } from '../registration.js'
import { clientText, durationSchema, objectErrors, scopeSchema, scopesSchema } from '../schemas.js'
import type { Provider, ProviderDefinition, TenantProvider, TenantProviderDefinition } from '../types.js'

const NO_API = 'must name at least one origin that connection.fetch may send the access token to'

const REGISTRATION = 'must be a function (tenant) => ({ clientId, clientSecret }), or null for tenants without a registration of their own'

const separator = z.enum([' ', ','], 'must be " " or ","').default(' ')
const PATH = 'must be names with dots in between, such as user.id'
const path = z.string(PATH).regex(/^\w+(\.\w+)*$/, PATH)
const codes = z.array(z.string('must be an error code').regex(/^[\w.-]{1,64}$/, 'must be an error code'), 'must be a list of error codes').readonly().exactOptional()
const failureCodes = { dead: codes, misregistered: codes }

/**
 * Defines a third party by data. What it returns is checked, complete and frozen.
 * @throws FST_MCP_CONNECT_OPTIONS with the path of what is wrong and how to fix it
 */
export function defineProvider (definition: TenantProviderDefinition): TenantProvider
export function defineProvider (definition: ProviderDefinition): Provider
export function defineProvider (definition: ProviderDefinition | TenantProviderDefinition): Provider | TenantProvider
export function defineProvider (definition: ProviderDefinition | TenantProviderDefinition): Provider | TenantProvider {
  const policy = readPolicy(definition)
  const isTenants = typeof definition === 'object' && definition !== null && 'registration' in definition
  const schema = isTenants ? tenantDefinitionSchema(policy) : definitionSchema(policy)
  const result = schema.safeParse(definition)
  if (!result.success) throw new OptionsError(`provider "${definition?.name ?? ''}": ${z.prettifyError(result.error)}`)
  return Object.freeze({ ...result.data, [allowLoopbackHttp]: policy.loopback })
}

function definitionSchema (policy: AddressPolicy): z.ZodType<Provider> {
  const shape = definitionShape(policy)
  return z.strictObject(shape, { error: objectErrors(Object.keys(shape)) }).transform(completeClient)
}

function tenantDefinitionSchema (policy: AddressPolicy): z.ZodType<TenantProvider> {
  const { issuer, clientId, apiOrigins, ...others } = definitionShape(policy)
  const own = { issuer: issuer.exactOptional(), clientId: clientId.exactOptional(), apiOrigins: apiOrigins.exactOptional() }
  const shape = { ...others, ...own, registration: z.custom<TenantProvider['registration']>(value => typeof value === 'function', REGISTRATION) }
  return z.strictObject(shape, { error: objectErrors(Object.keys(shape)) }).transform((definition, context) => {
    const { clientId, clientSecret, privateKey, issuer, apiOrigins } = definition
    const refuse = (path: string, message: string): void => context.addIssue({ code: 'custom', path: [path], message })
    if (clientId === undefined && (clientSecret ?? privateKey) !== undefined) refuse('clientId', 'is missing, to which the secret or key belongs; tenants do not get it')
    if (clientId !== undefined && issuer === undefined) refuse('issuer', 'is missing, where the clientId is registered')
    if (clientId !== undefined && apiOrigins === undefined) refuse('apiOrigins', NO_API)
    return completeClient(definition, context)
  })
}

function definitionShape (policy: AddressPolicy) {
  const origin = urlSchema(policy).refine(value => URL.canParse(value) && new URL(value).origin === value,
    'must be an origin, such as https://api.example.com, without a path or a trailing slash')
    .refine(value => !value.includes('*'), 'must be one origin: there are no wildcards')
  const endpoints = {
    authorization: urlSchema(policy), token: endpointSchema(policy), refresh: endpointSchema(policy).exactOptional(), revocation: endpointSchema(policy).exactOptional()
  }
  const identity = {
    url: endpointSchema(policy).exactOptional(),
    method: z.enum(['GET', 'POST'], 'must be "GET" or "POST"').exactOptional(),
    body: z.string('must be a text in JSON').exactOptional(),
    subject: path,
    labels: z.array(path, 'must be a list of paths').readonly().exactOptional()
  }
  return {
    name: clientText(100),
    ...registrationShape(policy),
    endpoints: z.strictObject(endpoints, { error: objectErrors(Object.keys(endpoints)) }).readonly().exactOptional(),
    refreshTokens: z.boolean('must be true or false').default(true),
    scopeSeparator: separator,
    requestScopeSeparator: separator,
    scopeParameter: z.string('must be the name of a parameter').regex(/^[a-z_]+$/, 'must be the name of a parameter')
      .refine(name => name === 'scope' || !OWN_PARAMETERS.includes(name), 'is set by the plugin; take it out').default('scope'),
    impliedScopes: z.record(scopeSchema, scopesSchema.readonly(), "must be lists of scopes by scope, such as { repo: ['public_repo'] }").readonly().default({}),
    ignoresScopeCase: z.boolean('must be true or false').default(false),
    accessTokenTtlMs: durationSchema(60_000, 365 * 24 * 60 * 60_000).exactOptional(),
    failureCodes: z.strictObject(failureCodes, { error: objectErrors(Object.keys(failureCodes)) }).readonly().default({}),
    tokenRequestFormat: z.enum(['form', 'json'], 'must be "form" or "json"').default('form'),
    tokenResponsePath: path.exactOptional(),
    requestHeaders: z.record(z.string().regex(/^[a-z-]+$/, 'is no name of a header, in lower case'), z.string('must be a string'), 'must be an object of strings').readonly().default({}),
    identity: z.strictObject(identity, { error: objectErrors(Object.keys(identity)) }).readonly().exactOptional(),
    revocationRequest: z.custom<NonNullable<ProviderDefinition['revocationRequest']>>(value => typeof value === 'function', 'must be a function (grant, registration) => ({ url, method })').exactOptional(),
    apiOrigins: z.array(origin, NO_API).min(1, NO_API).readonly()
  }
}
