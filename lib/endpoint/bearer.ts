import type { FastifyReply, FastifyRequest, onRequestAsyncHookHandler } from 'fastify'
import type { IncomingMessage } from 'node:http'
import { createTokenVerifier, TokenRefusedError } from '../oauth/access-token.js'
import type { Claims } from '../types.js'
import { refuse, refuseForNow } from './answers.js'
import type { EndpointAuth, EndpointSettings } from './types.js'

/** What both SDKs hand to handlers, of whoever calls: the guard reads `clientId` and `extra`. */
export interface AuthInfo {
  readonly token: string
  readonly clientId: string
  readonly scopes: string[]
  /** Epoch seconds. */
  readonly expiresAt: number
  readonly extra: Record<string, unknown>
}

/** Where SDK v1 looks for it. */
export type AuthenticatedMessage = IncomingMessage & { auth?: AuthInfo }

/** After keys could not be had: the metadata are asked for again after three. */
const RETRY_AFTER_S = 5

/** Where the protected resource metadata is (RFC 9728 section 3.1). */
export function metadataPath ({ resource }: EndpointAuth): string {
  const { pathname } = new URL(resource)
  return `/.well-known/oauth-protected-resource${pathname === '/' ? '' : pathname}`
}

/**
 * Takes requests with an access token for this resource alone, from `Authorization` (RFC 6750 section 2.1), and answers others as
 * RFC 6750 section 3 and RFC 9728 section 5.1 say.
 */
export function createBearerCheck ({ auth }: EndpointSettings): onRequestAsyncHookHandler {
  const verify = createTokenVerifier(auth)
  const { origin } = new URL(auth.resource)

  function challenge (reply: FastifyReply, status: 401 | 403, error: string | undefined, message: string): FastifyReply {
    const parameters = { error, resource_metadata: origin + metadataPath(auth), scope: auth.scopes.join(' ') }
    const written = Object.entries(parameters).filter(([, value]) => value).map(([name, value]) => `${name}="${value}"`)
    return refuse(reply.header('www-authenticate', `Bearer ${written.join(', ')}`), status, message)
  }

  return async (request: FastifyRequest, reply: FastifyReply) => {
    const [, token] = /^Bearer +([\w~+/.-]+=*)$/i.exec(request.headers.authorization ?? '') ?? []
    if (token === undefined) return challenge(reply, 401, undefined, 'An access token is required')
    try {
      const claims = await verify(token)
      const authInfo = readAuthInfo(token, claims)
      const missing = auth.scopes.filter(scope => !authInfo.scopes.includes(scope))
      if (missing.length > 0) {
        request.log.info({ missing }, 'mcp-connect: an access token lacks scopes')
        return challenge(reply, 403, 'insufficient_scope', 'The access token lacks scopes')
      }
      const message: AuthenticatedMessage = request.raw
      message.auth = authInfo
    } catch (error) {
      if (error instanceof TokenRefusedError) {
        request.log.info({ reason: error.reason }, 'mcp-connect: an access token was refused')
        return challenge(reply, 401, 'invalid_token', 'The access token is not valid here')
      }
      request.log.error({ err: error }, 'mcp-connect: access tokens cannot be verified')
      return refuseForNow(reply, 503, RETRY_AFTER_S, 'Access tokens cannot be verified at the moment')
    }
  }
}

/** The client is `client_id` (RFC 9068), or what other servers call it; so are scopes. */
function readAuthInfo (token: string, claims: Claims): AuthInfo {
  const { client_id: id, azp, cid, scope, scp, exp, sub } = claims
  const clientId = [id, azp, cid].find(value => typeof value === 'string' && value !== '')
  if (typeof sub !== 'string' || sub === '') throw new TokenRefusedError('its sub is not what it must be')
  if (clientId === undefined) throw new TokenRefusedError('it names no client: client_id, azp or cid')
  const granted = scope ?? scp
  const scopes = Array.isArray(granted) ? granted.map(String) : String(granted ?? '').split(' ').filter(one => one !== '')
  return { token, clientId: clientId as string, scopes, expiresAt: exp as number, extra: claims }
}
