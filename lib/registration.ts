import { z } from 'zod'
import type { CheckedKey, ClientAuthentication } from './client-registration.js'
import { mayRequest, type AddressPolicy } from './ip-address.js'
import { allowLoopbackHttp, isSecure } from './loopback.js'
import { privateKeySchema } from './private-key.js'
import { scopesSchema } from './schemas.js'

/*
 * The schema of a registration at an authorization server: what a provider's definition and the login have in common.
 */

const MISSING = 'is missing: is its environment variable set?'
const MISSING_SECRET = `${MISSING} For a public client leave the key out`

/** What the package sets itself. */
export const OWN_PARAMETERS: readonly string[] = ['client_id', 'client_secret', 'response_type', 'response_mode', 'redirect_uri', 'scope', 'state', 'nonce', 'max_age',
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

const WAYS = ['client_secret_basic', 'client_secret_post', 'private_key_jwt'] as const satisfies readonly ClientAuthentication[]

/** A registration as a client; {@link completeClient} checks its members against each other. */
export const clientShape = {
  clientId: z.string(MISSING).min(1, MISSING),
  clientSecret: z.string(MISSING_SECRET).min(1, MISSING_SECRET).exactOptional(),
  privateKey: privateKeySchema.exactOptional(),
  clientAuthentication: z.enum(WAYS, `must be one of: ${WAYS.join(', ')}`).exactOptional()
}

interface Client {
  readonly clientSecret?: string
  readonly privateKey?: CheckedKey
  readonly clientAuthentication?: ClientAuthentication
}

/** One thing to authenticate with, if any, and the way that goes with it. */
export function completeClient<C extends Client> (client: C, context: z.RefinementCtx): C & { readonly clientAuthentication: ClientAuthentication } {
  const refuse = (path: keyof Client, message: string): void => context.addIssue({ code: 'custom', path: [path], message })
  const { clientSecret, privateKey, clientAuthentication = privateKey === undefined ? 'client_secret_basic' : 'private_key_jwt' } = client
  if (privateKey !== undefined && clientSecret !== undefined) refuse('privateKey', 'stands beside a clientSecret; take the one out that is not registered')
  else if (privateKey !== undefined && clientAuthentication !== 'private_key_jwt') refuse('clientAuthentication', 'must be "private_key_jwt" with a privateKey; leave it out')
  else if (privateKey === undefined && clientAuthentication === 'private_key_jwt') refuse('clientAuthentication', 'needs a privateKey, and no clientSecret')
  return { ...client, clientAuthentication }
}

export function registrationShape (policy: AddressPolicy) {
  return {
    issuer: endpointSchema(policy).refine(value => !value.includes('/.well-known/'), 'must be the issuer itself; its metadata address is found from it'),
    ...clientShape,
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
