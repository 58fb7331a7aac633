import { IdentityInvalidError, shortCode, SignInDeclinedError, SignInFailedError, SignInInvalidError } from '../../errors.js'
import { createAuthorizationRequest } from '../../oauth/authorization-request.js'
import { readAuthorizationResponse, readState } from '../../oauth/authorization-response.js'
import { readUser } from '../../oauth/claims.js'
import { switchAccountPrompt, type Configuration } from '../../oauth/configuration.js'
import { redeemCode, wasBadCode, type CodeExchange } from '../../oauth/token-request.js'
import { explainInvalidPrincipal, parsePrincipal } from '../../principal.js'
import { randomToken } from '../../random.js'
import type { BrowserSession } from '../../state/browser-sessions.js'
import { assertNavigation } from '../navigation.js'
import { signedOutPage } from '../pages/signed-out.js'
import { recall, remember } from '../request-notes.js'
import { requireVisitor, type BrowserServices, type Handler } from '../services.js'
import type { LoginServices } from './login-services.js'

/** The handlers of the login's addresses (OpenID Connect Core 1.0 section 3.1). */
export function loginHandlers ({ urls, forms, name, configuration }: BrowserServices, login: LoginServices):
Record<'start' | 'callback' | 'signOut' | 'signedOut', Handler> {
  const { registration, pending, session } = login
  const { issuer, clientId, scopes } = registration
  const redirectUri = urls.login('callback')

  /** Who it is that the authorization server has signed in. */
  async function redeem (metadata: Configuration, exchange: CodeExchange): Promise<Omit<BrowserSession, 'endsAt'>> {
    const { claims, label } = await readUser(metadata, registration, await redeemCode(metadata, registration, exchange))
    const made = login.principal(claims)
    const principal = parsePrincipal(made)
    if (principal === null) throw new IdentityInvalidError('of the claims of whoever signs in, principal(claims) must make', explainInvalidPrincipal(made))
    return { principal, label: label ?? principal.subject }
  }

  return {
    /** Changes nothing by itself: whoever is led here signs in as themselves, or not at all. */
    start: inWordsOfTheLogin(async (request, reply) => {
      const { returnTo, switch: switchAccount } = request.query as Readonly<Record<string, unknown>>
      const metadata = await configuration(registration)
      const state = randomToken()
      const { url, codeVerifier, nonce } = await createAuthorizationRequest(metadata, registration,
        { redirectUri, scopes, state, ...switchAccount === 'true' && { prompt: switchAccountPrompt(metadata) } })
      await pending.write(request, reply, { state, issuer, clientId, codeVerifier, nonce: nonce!, returnTo: urls.returnTo(returnTo) })
      return reply.redirect(url.href, 303)
    }),

    callback: inWordsOfTheLogin(async (request, reply) => {
      assertNavigation(request)
      const state = readState(request.query)
      const own = await pending.read(request, state)
      if (own?.issuer !== issuer || own.clientId !== clientId) throw new SignInInvalidError('it was begun in another browser, with another registration, or more than ten minutes ago')
      const { returnTo, codeVerifier, nonce } = own
      remember(request, { returnTo })
      const metadata = await configuration(registration)
      const answer = readAuthorizationResponse(metadata, registration, request.query)
      // A double click: the other request decides. The page asks for signing in again if that one has failed.
      if (!await pending.claim(reply, state)) return reply.redirect(returnTo, 303)
      if (answer.kind === 'denied') throw new SignInDeclinedError()
      if (answer.kind === 'error') throw new SignInFailedError(answer.reason)
      await session.begin(request, reply, await redeem(metadata, { response: urls.withQueryOf(request, redirectUri), state, codeVerifier, nonce }))
      return reply.redirect(returnTo, 303)
    }),

    async signOut (request, reply) {
      const { principal } = requireVisitor(request)
      await forms.check(request, principal, ['sign out'])
      await session.end(request, reply)
      forms.close(request, reply)
      return reply.redirect(urls.login('signed-out'), 303)
    },

    async signedOut (request, reply) {
      if (recall(request).visitor !== null) return reply.redirect(urls.connections, 303)
      return reply.send(signedOutPage({ server: name, host: new URL(issuer).host, connections: urls.connections }))
    }
  }
}

/** These errors are worded for connecting a provider, and a login needs its own. */
function inWordsOfTheLogin (handler: Handler): Handler {
  return async (request, reply) => {
    try {
      return await handler(request, reply)
    } catch (error) {
      const { code = '', message } = error as Error & { code?: string }
      if (['STATE_INVALID', 'RESPONSE_INVALID'].includes(shortCode(code))) throw new SignInInvalidError(message)
      if (wasBadCode(error)) throw new SignInInvalidError('invalid_grant: its code is unknown, used or expired, or was given to another client or redirect URI')
      if (['EXCHANGE_FAILED', 'PROVIDER_UNAVAILABLE', 'PROVIDER_MISCONFIGURED'].includes(shortCode(code))) throw new SignInFailedError(message)
      throw error
    }
  }
}
