import * as client from 'openid-client'
import { ProviderMisconfiguredError, ProviderUnavailableError } from '../errors.js'
import { allowLoopbackHttp, isSecure } from '../loopback.js'
import type { Registration } from '../types.js'
import { clientAuthentication } from './client-authentication.js'
import { describeProvider, failureReason } from './failure.js'
import { inDialect, parseJson } from './dialect.js'
import { createOutboundFetch, type Fetch } from './outbound.js'

const NO_S256 = 'it does not list S256 in code_challenge_methods_supported; if the server supports it all the same, a provider\'s definition can give endpoints instead, and oidcLogin a clientSecret or a privateKey'
const NO_METADATA = 'neither /.well-known/openid-configuration nor /.well-known/oauth-authorization-server exists; a provider\'s definition can give endpoints instead'
const OTHER_ISSUER = 'its issuer is another one; set issuer to exactly that, character by character (look for a slash at the end; with Entra, set it to that of your tenant)'
const NO_ENDPOINTS = 'authorization_endpoint or token_endpoint is missing, or is not https'

/** openid-client's view of one provider: the authorization server's metadata and our registration there. */
export type Configuration = client.Configuration

/** Where metadata may stand, in this order; the second is asked only where the first does not exist. */
const ALGORITHMS = ['oidc', 'oauth2'] as const
const MAX_AGE_MS = 60 * 60_000
/** How long to wait after metadata could not be had. */
const PAUSE_MS = 3000

/**
 * Gives the configuration of a provider; pinned endpoints are taken as they are, others are discovered
 * (RFC 8414, OpenID Connect Discovery) when first needed, and again after an hour, while what is known goes on to be used.
 * @throws FST_MCP_CONNECT_PROVIDER_UNAVAILABLE when the metadata cannot be had
 * @throws FST_MCP_CONNECT_PROVIDER_MISCONFIGURED when it cannot be used, now or later
 */
export function createConfigurations (): (registration: Registration) => Promise<Configuration> {
  // What is no longer used, such as a registration that has changed, is forgotten with it.
  const known = new WeakMap<Registration, { readonly configuration: Promise<Configuration>, readonly good: boolean, readonly renewAt: number }>()

  function renew (registration: Registration, last: Promise<Configuration> | undefined): Promise<Configuration> {
    const next = configure(registration)
    const keep = (configuration: Promise<Configuration>, good: boolean, ms: number): void => {
      known.set(registration, { configuration, good, renewAt: Date.now() + ms })
    }
    keep(last ?? next, true, MAX_AGE_MS)
    next.then(() => keep(next, true, MAX_AGE_MS), () => keep(last ?? next, last !== undefined, PAUSE_MS))
    return last ?? next
  }

  return registration => {
    const last = known.get(registration)
    if (last !== undefined && last.renewAt > Date.now()) return last.configuration
    return renew(registration, last?.good === true ? last.configuration : undefined)
  }
}

/**
 * What makes a server ask for the account, which it would otherwise name again (OpenID Connect Core 1.0 section 3.1.2.1). Every
 * server knows `login`; those that know `select_account` may say so (Initiating User Registration via OpenID Connect 1.0).
 */
export function switchAccountPrompt (configuration: Configuration): 'select_account' | 'login' {
  const { prompt_values_supported: supported } = configuration.serverMetadata()
  return Array.isArray(supported) && supported.includes('select_account') ? 'select_account' : 'login'
}

/** The library takes a text for a list, and fails with a number. */
function listsS256 (configuration: Configuration): boolean {
  const { code_challenge_methods_supported: methods } = configuration.serverMetadata()
  return Array.isArray(methods) && methods.includes('S256')
}

async function configure (registration: Registration): Promise<Configuration> {
  const configuration = registration.endpoints === undefined
    ? await discover(registration)
    : pin(registration, registration.endpoints)
  const { authorization_endpoint: authorization, token_endpoint: token } = configuration.serverMetadata()
  const loopbackHttp = registration[allowLoopbackHttp] === true
  const usable = [authorization, token].every(url => typeof url === 'string' && URL.canParse(url) && isSecure(new URL(url), loopbackHttp))
  if (!usable) throw new ProviderMisconfiguredError(describeProvider(registration), NO_ENDPOINTS)
  return configuration
}

function pin (registration: Registration, { authorization, token }: NonNullable<Registration['endpoints']>): Configuration {
  const metadata = { issuer: registration.issuer, authorization_endpoint: authorization, token_endpoint: token }
  return create(registration, metadata, tokenFetch(registration, [token]))
}

/** openid-client's view of one request to a token endpoint of its own, with what was answered told as it comes. */
export function forRefresh (configuration: Configuration, registration: Registration, onResponse: (response: Response) => void): Configuration {
  const { supportsPKCE, ...metadata } = configuration.serverMetadata()
  const endpoint = registration.endpoints?.refresh ?? metadata.token_endpoint!
  const fetch = tokenFetch(registration, [endpoint])
  return create(registration, { ...metadata, token_endpoint: endpoint }, async (url, init) => {
    const response = await fetch(url, init)
    if (isSameUrl(url, endpoint)) onResponse(response.clone())
    return await withoutIdToken(response)
  })
}

/** An id_token that is not accepted, since clocks differ or it has no use here, would be the end of a refresh token that has just been used up. */
async function withoutIdToken (response: Response): Promise<Response> {
  const text = await response.text()
  const answer = parseJson(text)
  const { status, headers } = response
  if (typeof answer !== 'object' || answer === null || !('id_token' in answer)) return new Response(text, { status, headers })
  const { id_token: _, ...others } = answer
  return new Response(JSON.stringify(others), { status, headers })
}

/** openid-client's view of one request to a revocation endpoint (RFC 7009), with what was answered told as it comes. */
export function forRevocation (configuration: Configuration, registration: Registration, endpoint: string, onResponse: (response: Response) => void): Configuration {
  const { supportsPKCE, ...metadata } = configuration.serverMetadata()
  const fetch = tokenFetch(registration, [])        // that endpoint takes a form, whatever the token endpoint takes
  return create(registration, { ...metadata, revocation_endpoint: endpoint }, async (url, init) => {
    const response = await fetch(url, init)
    onResponse(response.clone())
    return response
  })
}

function create (registration: Registration, metadata: client.ServerMetadata, fetch: Fetch): Configuration {
  const configuration = new client.Configuration(metadata, registration.clientId, undefined, clientAuthentication(registration))
  configuration[client.customFetch] = fetch as client.CustomFetch
  if (registration[allowLoopbackHttp] === true) client.allowInsecureRequests(configuration)
  return configuration
}

function tokenFetch (registration: Registration, endpoints: readonly string[]): Fetch {
  return inDialect(registration, url => endpoints.some(endpoint => isSameUrl(url, endpoint)), createOutboundFetch(registration))
}

/** The library asks at addresses in normal spelling; definitions and metadata have them as they like. */
function isSameUrl (url: string, endpoint: string | undefined): boolean {
  return endpoint !== undefined && new URL(endpoint).href === url
}

async function discover (registration: Registration): Promise<Configuration> {
  const fetch = createOutboundFetch(registration)
  for (const algorithm of ALGORITHMS) {
    let status = 0
    try {
      const configuration = await client.discovery(new URL(registration.issuer), registration.clientId, undefined, clientAuthentication(registration), {
        algorithm,
        execute: registration[allowLoopbackHttp] === true ? [client.allowInsecureRequests] : [],
        [client.customFetch]: async (url, init) => {
          const response = await fetch(url, init as RequestInit)
          status = response.status
          return response
        }
      })
      // The library takes what differs in spelling for the same, and for Entra whatever the metadata say (RFC 8414 section 3.3).
      if (configuration.serverMetadata().issuer !== registration.issuer) throw new ProviderMisconfiguredError(describeProvider(registration), OTHER_ISSUER)
      // A server that does not name S256 may ignore the challenge: the code would not be bound to this flow (RFC 9700 section 2.1.1).
      if (registration.assumesS256 !== true && !listsS256(configuration)) throw new ProviderMisconfiguredError(describeProvider(registration), NO_S256)
      configuration[client.customFetch] = inDialect(registration, url => isSameUrl(url, configuration.serverMetadata().token_endpoint), fetch) as client.CustomFetch
      if (configuration.serverMetadata().jwks_uri !== undefined) client.enableNonRepudiationChecks(configuration)    // signatures of id_tokens
      return configuration
    } catch (error) {
      if (status === 404) continue
      if (error instanceof ProviderMisconfiguredError) throw error
      const reason = status >= 500 ? `status ${status}` : failureReason(error)
      if (reason === 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED') throw new ProviderMisconfiguredError(describeProvider(registration), OTHER_ISSUER)
      // The library's own codes say that an answer came and was not what it must be; ours, that none was asked for.
      throw /^(OAUTH_|not_)/.test(reason)
        ? new ProviderMisconfiguredError(describeProvider(registration), reason)
        : new ProviderUnavailableError(describeProvider(registration), reason)
    }
  }
  throw new ProviderMisconfiguredError(describeProvider(registration), NO_METADATA)
}
