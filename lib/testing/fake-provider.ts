import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { authorize } from './fake-authorization.js'
import { createFakeGrants } from './fake-grants.js'
import { fakeKeySet } from './fake-id-token.js'
import { resolveQuirks, type FakeAccount, type FakePaths, type FakeQuirks, type Ways } from './fake-quirks.js'
import { answer, bearerOf, hasHeaders, isClient, readRequest, setAt, type FakeRequest } from './fake-requests.js'
import { createFakeScript, play, refuse, type FakeEndpoint, type FakeOutcome } from './fake-script.js'
import { answerTokens } from './fake-token-response.js'

const LOOPBACK = '127.0.0.1'

/** What has happened at a fake provider; attempts that it was made to fail at are not counted, except lost answers. */
export interface FakeCounts {
  readonly authorizations: number
  /** Codes for tokens. */
  readonly exchanges: number
  readonly refreshes: number
  /** Refresh tokens that came again after their use. */
  readonly reuses: number
  readonly revocations: number
  /** Requests that it has refused, of its own accord or because it was made to. */
  readonly refusals: number
}

/** A provider on this machine, for tests: an authorization server with an API. */
export interface FakeProvider {
  /** Its issuer, which is the origin of its API, too. */
  readonly issuer: string
  /** Addresses of its endpoints. */
  readonly endpoints: FakePaths
  readonly counts: FakeCounts
  /** All that it was asked. */
  readonly requests: readonly FakeRequest[]
  /** Whether people agree. @default 'allow' */
  decision: 'allow' | 'deny'
  /** Who signs in from now on. */
  account: FakeAccount
  /** Makes the next requests there end otherwise, after those that were planned before. */
  next (at: FakeEndpoint, outcome: FakeOutcome, times?: number): void
  /** Ends the lifetime of all access tokens. */
  expireAccessTokens (): void
  /** Takes all grants back, as people do at a provider. */
  revokeGrants (): void
  /** Stops; connections are broken. */
  close (): Promise<void>
}

/** Starts a fake provider with ways of its own, at a free port of 127.0.0.1. */
export async function startFakeProvider (quirks: FakeQuirks = {}): Promise<FakeProvider> {
  const ways = resolveQuirks(quirks)
  const { paths } = ways
  const grants = createFakeGrants(ways)
  const script = createFakeScript()
  const requests: FakeRequest[] = []
  const counts = { authorizations: 0, exchanges: 0, refreshes: 0, revocations: 0, refusals: 0 }

  const handlers: Record<FakeEndpoint, (request: FakeRequest, response: ServerResponse) => Promise<void> | void> = {
    authorization (request, response) {
      const url = authorize(request, { ways, grants, issuer, account: fake.account, decision: fake.decision })
      if (url === null) return refuseHere(response, 'invalid_request')
      counts.authorizations++
      response.writeHead(302, { location: url.href }).end()
    },
    async exchange (request, response) {
      const { code = '', redirect_uri: redirectUri, code_verifier: verifier } = request.parameters
      const tokens = grants.redeem(code, redirectUri, verifier)
      if (tokens === null) return refuseHere(response, ways.errorCodes.dead)
      counts.exchanges++
      await answerTokens(response, ways, issuer, 'exchange', tokens)
    },
    async refresh (request, response) {
      const tokens = grants.refresh(request.parameters['refresh_token'] ?? '')
      if (tokens === null) return refuseHere(response, ways.errorCodes.dead)
      counts.refreshes++
      await answerTokens(response, ways, issuer, 'refresh', tokens)
    },
    revocation (request, response) {
      const { token, access_token: other } = request.parameters
      const known = grants.revoke((ways.revocation === 'bearer' ? bearerOf(request) : token ?? other) ?? '')
      if (known) counts.revocations++
      answer(response, known ? ways.extraMembers : {})     // RFC 7009 section 2.2: a token that nobody knows is revoked, too
    },
    identity (request, response) {
      const grant = grants.find(bearerOf(request))
      if (grant === null) return unauthorized(response)
      if (ways.identityScopes?.every(scope => !grant.scopes.includes(scope)) === true) return refuseHere(response, 'insufficient_scope', 403)
      const { subject, label } = ways.identity
      const body: Record<string, unknown> = { ...ways.extraMembers }
      setAt(body, subject, grant.account.subject)
      if (label !== undefined && grant.account.label !== undefined) setAt(body, label, grant.account.label)
      answer(response, body)
    },
    api (request, response) {
      const grant = grants.find(bearerOf(request))
      if (grant === null) return unauthorized(response)
      answer(response, { account: grant.account, scopes: grant.scopes })
    }
  }

  function refuseHere (response: ServerResponse, code: string, status?: number): void {
    counts.refusals++
    refuse(response, ways, code, status)
  }

  function unauthorized (response: ServerResponse): void {
    counts.refusals++
    answer(response, { error: 'invalid_token' }, 401, { 'www-authenticate': 'Bearer error="invalid_token"' })
  }

  async function handle (message: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = await readRequest(message)
    requests.push(request)
    const body = metadata(request.path)
    if (body !== undefined) return answer(response, await body)
    const at = endpointOf(request, ways)
    if (at === undefined) return answer(response, { error: 'not_found' }, 404)
    const outcome = script.take(at)
    if (outcome !== undefined && outcome !== 'lose') {
      if (outcome === 'dead' || outcome === 'misregistered') counts.refusals++
      return play(outcome, message, response, ways)
    }
    if (outcome === 'lose') {
      response.end = () => {
        message.socket.destroy()
        return response
      }
    }
    const refusal = objection(at, request, ways)
    if (refusal !== undefined) return refuseHere(response, refusal)
    await handlers[at](request, response)
  }

  function metadata (path: string): object | Promise<object> | undefined {
    if (path === '/jwks') return fakeKeySet()
    if (!ways.metadata || !/^\/\.well-known\/(openid-configuration|oauth-authorization-server)$/.test(path)) return undefined
    return {
      issuer,
      authorization_endpoint: issuer + paths.authorization,
      token_endpoint: issuer + paths.token,
      ...ways.revocation === 'rfc7009' && { revocation_endpoint: issuer + paths.revocation },
      ...ways.identity.subject === 'sub' && { userinfo_endpoint: issuer + paths.identity },
      jwks_uri: `${issuer}/jwks`,
      response_types_supported: ['code'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: [ways.clientAuthentication ?? ['client_secret_basic', 'client_secret_post']].flat(),
      authorization_response_iss_parameter_supported: ways.namesIssuer,
      ...ways.scopesSupported !== undefined && { scopes_supported: ways.scopesSupported }
    }
  }

  const server = createServer((message, response) => {
    handle(message, response).catch(error => {
      if (!response.headersSent) answer(response, { error: 'server_error', error_description: String(error) }, 500)
    })
  })
  server.keepAliveTimeout = 0        // a connection that closes just when it is used again looks like a failure of the provider
  server.listen(0, LOOPBACK)
  await once(server, 'listening')
  server.unref()
  const issuer = `http://${LOOPBACK}:${(server.address() as AddressInfo).port}`

  const fake: FakeProvider = {
    issuer,
    endpoints: Object.fromEntries(Object.entries(paths).map(([name, path]) => [name, issuer + path])) as unknown as FakePaths,
    get counts () { return { ...counts, reuses: grants.reuses } },
    requests,
    decision: 'allow',
    account: ways.account,
    next: (at, outcome, times = 1) => script.add(at, outcome, times),
    expireAccessTokens: () => grants.expire(),
    revokeGrants: () => grants.revokeAll(),
    async close () {
      if (!server.listening) return
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    }
  }
  return fake
}

function endpointOf ({ path, method, parameters }: FakeRequest, { paths, identity, revocation }: Ways): FakeEndpoint | undefined {
  if (path === paths.authorization && method === 'GET') return 'authorization'
  const refreshes = parameters['grant_type'] === 'refresh_token'
  if (path === paths.refresh && method === 'POST' && (refreshes || paths.refresh !== paths.token)) return 'refresh'
  if (path === paths.token && method === 'POST' && !refreshes) return 'exchange'
  if (path === paths.revocation && revocation !== 'none' && method !== 'GET') return 'revocation'
  if (path === paths.identity && identity.in === 'endpoint' && (identity.method === undefined || method === identity.method)) return 'identity'
  return path === paths.api ? 'api' : undefined
}

/** What is wrong with a request as such, as the code of an error. */
function objection (at: FakeEndpoint, request: FakeRequest, ways: Ways): string | undefined {
  if (at === 'authorization' || at === 'api') return undefined
  if (!hasHeaders(request, ways)) return 'missing_header'
  if (at === 'identity') return undefined
  if (at === 'revocation') return ways.revocation === 'bearer' || isClient(request, ways.revocation === 'json' ? { ...ways, clientAuthentication: 'client_secret_basic' } : ways) ? undefined : ways.errorCodes.misregistered
  const { tokenRequestFormat: format } = ways
  if (format !== undefined && (request.type === 'application/json') !== (format === 'json')) return 'invalid_request'
  if (!isClient(request, ways)) return ways.errorCodes.misregistered
  return at === 'exchange' && request.parameters['grant_type'] !== 'authorization_code' ? 'unsupported_grant_type' : undefined
}
