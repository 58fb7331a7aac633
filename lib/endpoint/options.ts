import { z } from 'zod'
import { OptionsError } from '../errors.js'
import type { AddressPolicy } from '../ip-address.js'
import { allowLoopbackHttp, isSecure } from '../loopback.js'
import { endpointSchema, readPolicy, registrationShape } from '../registration.js'
import { durationSchema, objectErrors, scopesSchema } from '../schemas.js'
import type { EndpointSettings, McpEndpointOptions } from './types.js'

const DAY_MS = 24 * 60 * 60_000
const RESOURCE = 'must be the public URL of the endpoint, such as https://mcp.example.com/mcp: without user, password, query or fragment (http:// is for localhost and 127.0.0.1 only)'
const HOST = 'must be a host as in Host, such as internal.example.com or localhost:3000: lower case, and without wildcards'
const ORIGIN = 'must be an origin, such as https://app.example.com, without a path or a trailing slash; there are no wildcards'
const MAX_SESSIONS = 'must be how many MCP sessions there may be, from 1 to 1000000'

const resource = z.string(RESOURCE).refine(value => {
  if (!URL.canParse(value)) return false
  const url = new URL(value)
  return isSecure(url, true) && url.username + url.password === '' && !/[?#]/.test(value)
}, RESOURCE)

const scopes = scopesSchema.readonly().default([]).refine(scopes => !scopes.includes('offline_access'),
  'must not hold offline_access: it asks the authorization server for a refresh token, and is no scope of yours (SEP-2207); clients add it themselves')

function authSchema (policy: AddressPolicy) {
  const { issuer, privateHosts } = registrationShape(policy)
  const shape = { issuer, resource, scopes, jwksUri: endpointSchema(policy).exactOptional(), privateHosts }
  return z.strictObject(shape, { error: objectErrors(Object.keys(shape)) })
    .transform(auth => ({ ...auth, [allowLoopbackHttp]: policy.loopback }))
}

const isHost = (value: string): boolean => /^([a-z0-9._-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/.test(value)
const isOrigin = (value: string): boolean => !value.includes('*') && URL.canParse(value) && new URL(value).origin === value

/**
 * Checks the options and fills in the defaults.
 * @throws FST_MCP_CONNECT_OPTIONS with the option's path and how to fix it
 */
export function resolveEndpointOptions (options: McpEndpointOptions): EndpointSettings {
  const shape = {
    path: z.string().regex(/^(\/[a-z0-9._~-]+)+$/i, 'must be a path such as /mcp: a leading slash, no trailing one, no parameters').default('/mcp'),
    createServer: z.custom<McpEndpointOptions['createServer']>(value => typeof value === 'function', 'must be a function that makes an McpServer'),
    auth: authSchema(readPolicy(options?.auth)),
    allowedHosts: z.array(z.string(HOST).refine(isHost, HOST), 'must be a list of hosts').readonly().default([]),
    allowedOrigins: z.array(z.string(ORIGIN).refine(isOrigin, ORIGIN), 'must be a list of origins').readonly().default([]),
    sessionIdleMs: durationSchema(1000, DAY_MS).default(30 * 60_000),
    maxSessions: z.int(MAX_SESSIONS).min(1, MAX_SESSIONS).max(1_000_000, MAX_SESSIONS).default(10_000),
    jsonResponse: z.boolean('must be true or false').default(false)
  }
  const result = z.strictObject(shape, { error: objectErrors(Object.keys(shape)) }).safeParse(options)
  if (!result.success) throw new OptionsError(`mcpEndpoint: ${z.prettifyError(result.error)}`)
  return Object.freeze(result.data)
}
