import { z } from 'zod'
import { mayRequest, type AddressPolicy } from './ip-address.js'
import { allowLoopbackHttp, isSecure } from './loopback.js'
import { scopesSchema } from './schemas.js'

/*
 * The schema of a registration at an authorization server: what a provider's definition and the login have in common.
 */

const MISSING = 'is missing: is its environment variable set?'
const MISSING_SECRET = `${MISSING} For a public client leave the key out`

/** What the package sets itself. */
const OWN_PARAMETERS = ['client_id', 'client_secret', 'response_type', 'response_mode', 'redirect_uri', 'scope', 'state', 'nonce', 'max_age',
  'code_challenge', 'code_challenge_method', 'resource', 'request', 'request_uri']

/** What a definition, which is not checked yet, lets through beside public https: addresses. */
export function readPolicy (definition: { readonly privateHosts?: unknown, readonly [allowLoopbackHttp]?: unknown } | undefined): AddressPolicy {
  const { privateHosts, [allowLoopbackHttp]: loopback } = definition ?? {}
  return { loopback: loopback === true, privateHosts: Array.isArray(privateHosts) ? privateHosts : [] }
}

export function urlSchema ({ loopback }: Pick<AddressPolicy, 'loopback'>): z.ZodString {
  return z.string('must be an absolute https: URL').refine(value => isSafeUrl(value, loopback),
    'must be an absolute https: URL without user, password or fragment; for http: on localhost or 127.0.0.1, import the symbol allowLoopbackHttp and set [allowLoopbackHttp]: true')
}

/** An address that this package itself connects to. */
export function endpointSchema (policy: AddressPolicy): z.ZodString {
  return urlSchema(policy).refine(value => !URL.canParse(value) || mayRequest(new URL(value), policy),
    'leads to an address that is not public; if it is inside your network, put the host into privateHosts, which lets private addresses through, and no link-local or reserved ones')
}

const HOST = 'must be a host, as in login.corp.example: lower case, without a port or wildcards'
const host = z.string(HOST).refine(value => URL.canParse(`https://${value}`) && new URL(`https://${value}`).hostname === value && !value.includes('*'), HOST)

export function registrationShape (policy: AddressPolicy) {
  return {
    issuer: endpointSchema(policy).refine(value => !value.includes('/.well-known/'), 'must be the issuer itself; its metadata address is found from it'),
    clientId: z.string(MISSING).min(1, MISSING),
    clientSecret: z.string(MISSING_SECRET).min(1, MISSING_SECRET).exactOptional(),
    clientAuthentication: z.enum(['client_secret_basic', 'client_secret_post'], 'must be "client_secret_basic" or "client_secret_post"').default('client_secret_basic'),
    scopes: scopesSchema.readonly().default([]),
    resource: urlSchema(policy).exactOptional(),
    privateHosts: z.array(host, 'must be a list of hosts').readonly().default([]),
    authorizationParameters: z.record(z.string(), z.string('must be a string'), 'must be an object of strings').readonly().default({}).superRefine((parameters, context) => {
      for (const name of Object.keys(parameters)) {
        if (OWN_PARAMETERS.includes(name)) context.addIssue({ code: 'custom', path: [name], message: 'is set by the plugin; take it out' })
      }
    })
  }
}

function isSafeUrl (value: string, loopbackHttp: boolean): boolean {
  if (!URL.canParse(value)) return false
  const url = new URL(value)
  return isSecure(url, loopbackHttp) && url.username + url.password + url.hash === ''
}
