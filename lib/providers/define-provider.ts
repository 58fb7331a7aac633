import { z } from 'zod'
import { OptionsError } from '../errors.js'
import { allowLoopbackHttp, isSecure } from '../loopback.js'
import { displayText, objectErrors, scopesSchema } from '../schemas.js'
import type { Provider, ProviderDefinition } from '../types.js'

const MISSING = 'is missing: is its environment variable set?'
const MISSING_SECRET = `${MISSING} For a public client leave the key out`
const NO_API = 'must name at least one origin that connection.fetch may send the access token to'

/** What the plugin sets itself; a definition cannot. */
const OWN_PARAMETERS = ['client_id', 'client_secret', 'response_type', 'response_mode', 'redirect_uri', 'scope', 'state', 'nonce',
  'code_challenge', 'code_challenge_method', 'resource', 'request', 'request_uri']

/**
 * Defines a third party by data. What it returns is checked, complete and frozen.
 * @throws FST_MCP_CONNECT_OPTIONS with the path of what is wrong and how to fix it
 */
export function defineProvider (definition: ProviderDefinition): Provider {
  const loopbackHttp = definition?.[allowLoopbackHttp] === true
  const result = definitionSchema(loopbackHttp).safeParse(definition)
  if (!result.success) throw new OptionsError(`provider "${definition?.name ?? ''}": ${z.prettifyError(result.error)}`)
  return Object.freeze({ ...result.data, [allowLoopbackHttp]: loopbackHttp })
}

function definitionSchema (loopbackHttp: boolean): z.ZodType<Provider> {
  const url = z.string('must be an absolute https: URL').refine(value => isSafeUrl(value, loopbackHttp),
    'must be an absolute https: URL without user, password or fragment; for http: on localhost or 127.0.0.1, import the symbol allowLoopbackHttp and set [allowLoopbackHttp]: true')
  const origin = url.refine(value => URL.canParse(value) && new URL(value).origin === value,
    'must be an origin, such as https://api.example.com, without a path or a trailing slash')
  const shape = {
    name: displayText(100),
    issuer: url.refine(value => !value.includes('/.well-known/'), 'must be the issuer itself; its metadata address is found from it'),
    endpoints: z.strictObject({ authorization: url, token: url }, { error: objectErrors(['authorization', 'token']) }).readonly().exactOptional(),
    clientId: z.string(MISSING).min(1, MISSING),
    clientSecret: z.string(MISSING_SECRET).min(1, MISSING_SECRET).exactOptional(),
    clientAuthentication: z.enum(['client_secret_basic', 'client_secret_post'], 'must be "client_secret_basic" or "client_secret_post"').default('client_secret_basic'),
    scopes: scopesSchema.readonly().default([]),
    scopeSeparator: z.enum([' ', ','], 'must be " " or ","').default(' '),
    resource: url.exactOptional(),
    authorizationParameters: z.record(z.string(), z.string('must be a string'), 'must be an object of strings').readonly().default({}).superRefine((parameters, context) => {
      for (const name of Object.keys(parameters)) {
        if (OWN_PARAMETERS.includes(name)) context.addIssue({ code: 'custom', path: [name], message: 'is set by the plugin; take it out' })
      }
    }),
    apiOrigins: z.array(origin, NO_API).min(1, NO_API).readonly()
  }
  return z.strictObject(shape, { error: objectErrors(Object.keys(shape)) })
}

function isSafeUrl (value: string, loopbackHttp: boolean): boolean {
  if (!URL.canParse(value)) return false
  const url = new URL(value)
  return isSecure(url, loopbackHttp) && url.username + url.password + url.hash === ''
}
