import type { FastifyReply } from 'fastify'
import { ConsumedError, ExchangeFailedError, IdentityInvalidError, SignInFailedError, SignInInvalidError } from '../../errors.js'
import { createAuthorizationRequest } from '../../oauth/authorization-request.js'
import { readAuthorizationResponse, readState } from '../../oauth/authorization-response.js'
import { findLabel, readUserClaims } from '../../oauth/claims.js'
import type { Configuration } from '../../oauth/configuration.js'
import { redeemCode, type CodeExchange } from '../../oauth/token-request.js'
import { parsePrincipal } from '../../principal.js'
import { randomToken } from '../../random.js'
import type { BrowserSession } from '../../state/browser-sessions.js'
import { signedOutPage } from '../pages/signed-out.js'
import { recall, remember } from '../request-notes.js'
import { requireVisitor, type BrowserServices, type Handler } from '../services.js'
import type { LoginServices } from './login-services.js'

/** The handlers of the login's addresses (OpenID Connect Core 1.0 section 3.1). */
export function loginHandlers ({ urls, forms, name, configuration }: BrowserServices, login: LoginServices):
Record<'start' | 'finish' | 'signOut' | 'signedOut', Handler> {
  const { registration, attempts, session } = login

  /** Who it is that the authorization server has signed in. */
  async function redeem (configuration: Configuration, exchange: CodeExchange): Promise<Omit<BrowserSession, 'endsAt'>> {
    const tokens = await redeemCode(configuration, registration, exchange)
    const claims = await readUserClaims(configuration, registration, tokens)
    const principal = parsePrincipal(login.principal(claims))
    if (principal === null) throw new IdentityInvalidError('of the claims of whoever signs in, principal(claims) must make')
    return { principal, label: await findLabel(configuration, tokens) ?? principal.subject }
  }

  return {
    /** Changes nothing by itself: whoever is led here signs in as themselves, or not at all. */
    async start (request, reply) {
      const { returnTo, prompt } = request.query as Readonly<Record<string, unknown>>
      const state = randomToken()
      const redirectUri = urls.login('callback')
      const { scopes, issuer, clientId } = registration
      const { url, codeVerifier, nonce } = await createAuthorizationRequest(await configuration(registration), registration,
        { redirectUri, scopes, state, ...prompt === 'login' && { prompt } })
      await attempts.write(request, reply, { state, issuer, clientId, codeVerifier, nonce: nonce!, returnTo: urls.returnTo(returnTo) })
      return reply.redirect(url.href, 303)
    },

    async finish (request, reply) {
      const state = readState(request.query)
      const attempt = await attempts.read(request, state)
      const { issuer, clientId } = registration
      if (attempt?.issuer !== issuer || attempt.clientId !== clientId) throw new SignInInvalidError()
      const { returnTo, codeVerifier, nonce } = attempt
      remember(request, { returnTo })
      const metadata = await configuration(registration)
      const answer = readAuthorizationResponse(metadata, registration, request.query)
      if (!await attempts.claim(reply, state)) throw new ConsumedError()
      if (answer.kind !== 'code') throw new SignInFailedError(answer.kind === 'denied' ? 'access_denied' : answer.reason)
      const response = new URL(urls.login('callback') + new URL(request.url, urls.origin).search)
      try {
        await session.begin(request, reply, await redeem(metadata, { response, state, codeVerifier, nonce }))
      } catch (error) {
        throw error instanceof ExchangeFailedError ? new SignInFailedError(error.message) : error
      }
      return reply.redirect(returnTo, 303)
    },

    async signOut (request, reply) {
      const { principal } = requireVisitor(request)
      await forms.check(request, principal, ['sign out'])
      await session.end(request, reply)
      return reply.redirect(urls.login('signed-out'), 303)
    },

    async signedOut (request, reply): Promise<FastifyReply> {
      if (recall(request).visitor !== null) return reply.redirect(urls.connections, 303)
      return reply.send(signedOutPage({ server: name, host: new URL(registration.issuer).host, connections: urls.connections }))
    }
  }
}
