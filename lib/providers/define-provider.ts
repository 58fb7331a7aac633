import { z } from 'zod'
import { OptionsError } from '../errors.js'
import { allowLoopbackHttp, isSecure } from '../loopback.js'
import type { Provider, ProviderDefinition } from '../types.js'

/** What the plugin sets itself; a definition cannot. */
const OWN_PARAMETERS = ['client_id', 'response_type', 'response_mode', 'redirect_uri', 'scope', 'state', 'nonce',
  'code_challenge', 'code_challenge_method', 'resource', 'request', 'request_uri']

/**
 * Defines a third party by data. What it returns is checked, complete and frozen.
 * @throws FST_MCP_CONNECT_OPTIONS with the path of what is wrong and how to mend it
 */
export function defineProvider (definition: ProviderDefinition): Provider {
  const loopbackHttp = definition?.[allowLoopbackHttp] === true
  const result = definitionSchema(loopbackHttp).safeParse(definition)
  if (!result.success) throw new OptionsError(`provider ${definition?.name ?? ''}: ${z.prettifyError(result.error)}`)
  return Object.freeze({ ...result.data, [allowLoopbackHttp]: loopbackHttp })
}

function definitionSchema (loopbackHttp: boolean): z.ZodType<Provider> {
  const url = z.string().refine(value => isSafeUrl(value, loopbackHttp),
    'must be an absolute https: URL without user, password or fragment; for http: on this machine set [allowLoopbackHttp]: true')
  const origin = url.refine(value => URL.canParse(value) && new URL(value).origin === value,
    'must be an origin, such as https://api.example.com, without a path or a trailing slash')
  const text = z.string().min(1).max(200).regex(/^[^\p{Cc}\p{Cf}]*$/u, 'must not hold control or formatting characters')
  const scope = z.string().regex(/^[\x21\x23-\x5B\x5D-\x7E]+$/, 'must be one scope: printable ASCII without spaces or quotes (RFC 6749 section 3.3)')

  return z.strictObject({
    name: text,
    issuer: url,
    endpoints: z.strictObject({ authorization: url, token: url }).readonly().optional(),
    clientId: z.string().min(1),
    clientSecret: z.string().min(1, 'must not be empty; leave it out for a public client').optional(),
    clientAuthentication: z.enum(['client_secret_basic', 'client_secret_post']).default('client_secret_basic'),
    scopes: z.array(scope).readonly().default([]),
    scopeSeparator: z.enum([' ', ',']).default(' '),
    resource: url.optional(),
    authorizationParameters: z.record(
      z.string().refine(name => !OWN_PARAMETERS.includes(name), 'is set by the plugin; take it out'), z.string()).readonly().default({}),
    apiOrigins: z.array(origin).min(1, 'name at least one origin that connection.fetch may send the access token to').readonly()
  })
}

function isSafeUrl (value: string, loopbackHttp: boolean): boolean {
  if (!URL.canParse(value)) return false
  const url = new URL(value)
  return isSecure(url, loopbackHttp) && url.username + url.password + url.hash === ''
}
