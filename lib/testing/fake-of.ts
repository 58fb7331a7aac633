import { allowLoopbackHttp } from '../loopback.js'
import type { Provider } from '../types.js'
import { PRESET_QUIRKS } from './fake-presets.js'
import { startFakeProvider, type FakeProvider } from './fake-provider.js'
import type { FakeIdentity, FakePaths, FakeQuirks } from './fake-quirks.js'

/**
 * Starts a fake of a provider: one that is as its data say, and for a preset as its documentation says beside. It is asked at the paths of the
 * original. The second value is that provider with its addresses at the fake, and otherwise the same.
 * @param quirks other ways, such as `{ refreshTokens: 'single-use', tellsExpiry: true }` for GitHub as a GitHub App has it
 */
export async function fakeOf (provider: Provider, quirks: FakeQuirks = {}): Promise<{ readonly fake: FakeProvider, readonly provider: Provider }> {
  const { paths, errorCodes, ...others } = { ...PRESET_QUIRKS[provider.name], ...quirks }
  const fake = await startFakeProvider({
    ...quirksOf(provider),
    ...others,
    paths: { ...pathsOf(provider), ...paths },
    errorCodes: { ...codesOf(provider), ...errorCodes }
  })
  return { fake, provider: move(provider, fake.issuer) }
}

function quirksOf (provider: Provider): FakeQuirks {
  const { clientId, clientSecret, clientAuthentication, tokenRequestFormat, scopeParameter, requestScopeSeparator, scopeSeparator, tokenResponsePath, requestHeaders } = provider
  return {
    clientId,
    ...clientSecret !== undefined && clientAuthentication !== 'private_key_jwt' && { clientSecret, clientAuthentication },
    tokenRequestFormat,
    scopeParameter,
    requestScopeSeparator,
    scopeSeparator,
    ...tokenResponsePath !== undefined && { tokenResponsePath },
    requiredHeaders: requestHeaders,
    ...provider.identity !== undefined && { identity: identityOf(provider.identity) },
    namesIssuer: false,
    metadata: provider.endpoints === undefined,
    revocation: revocationOf(provider)
  }
}

function identityOf ({ url, method, subject, labels = [] }: NonNullable<Provider['identity']>): FakeIdentity {
  const [label] = labels
  return { in: url === undefined ? 'token response' : 'endpoint', method: method ?? 'GET', subject, ...label !== undefined && { label } }
}

function codesOf ({ failureCodes: { dead, misregistered } }: Provider): FakeQuirks['errorCodes'] & object {
  return { ...dead?.[0] !== undefined && { dead: dead[0] }, ...misregistered?.[0] !== undefined && { misregistered: misregistered[0] } }
}

/** A revocation request of the provider's own making, as far as one can be told from another. */
function sampleRevocation (provider: Provider): ReturnType<NonNullable<Provider['revocationRequest']>> | undefined {
  return provider.revocationRequest?.({ accessToken: 'access', refreshToken: 'refresh' }, provider)
}

function revocationOf (provider: Provider): NonNullable<FakeQuirks['revocation']> {
  const sample = sampleRevocation(provider)
  if (sample !== undefined) return Object.values(sample.headers ?? {}).includes('Bearer access') ? 'bearer' : 'json'
  return provider.endpoints === undefined || provider.endpoints.revocation !== undefined ? 'rfc7009' : 'none'
}

function pathsOf (provider: Provider): Partial<FakePaths> {
  const { endpoints, identity } = provider
  const urls = {
    ...endpoints,
    revocation: sampleRevocation(provider)?.url ?? endpoints?.revocation,
    identity: identity?.url
  }
  return Object.fromEntries(Object.entries(urls).flatMap(([name, url]) => url === undefined ? [] : [[name, new URL(url).pathname]]))
}

/** The same provider at another origin. */
function move (provider: Provider, origin: string): Provider {
  const { endpoints, identity, revocationRequest } = provider
  const moved = (url: string): string => origin + new URL(url).pathname
  return Object.freeze({
    ...provider,
    issuer: origin,
    ...endpoints !== undefined && { endpoints: Object.fromEntries(Object.entries(endpoints).map(([name, url]) => [name, moved(url)])) as NonNullable<Provider['endpoints']> },
    ...identity?.url !== undefined && { identity: { ...identity, url: moved(identity.url) } },
    ...revocationRequest !== undefined && {
      revocationRequest: ((...args) => {
        const request = revocationRequest(...args)
        return { ...request, url: moved(request.url) }
      }) satisfies Provider['revocationRequest']
    },
    apiOrigins: [origin],
    [allowLoopbackHttp]: true
  })
}
