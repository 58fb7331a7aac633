import type { BrowserSessions } from '../../state/browser-sessions.js'
import type { RecordServices } from '../../state/records.js'
import type { BrowserIdentity, OidcLogin } from '../../types.js'
import type { KeyRing } from '../../vault/key-ring.js'
import type { Cookies } from '../cookies.js'
import type { Urls } from '../urls.js'
import { createAttempts } from './attempts.js'
import type { LoginServices } from './login-services.js'
import { createSessionCookie, type SessionCookie } from './session-cookie.js'

interface OwnLoginServices extends Pick<LoginServices, 'principal'> {
  readonly sessions: BrowserSessions
  readonly ring: KeyRing
  readonly cookies: Cookies
  readonly records: RecordServices
  readonly urls: Urls
}

/** A login of our own, for host applications without one: what its routes work with, and whom it says to be in front of the browser. */
export function createOwnLogin (oidc: OidcLogin, { principal, sessions, ring, cookies, records, urls }: OwnLoginServices):
{ readonly login: LoginServices, readonly identity: BrowserIdentity } {
  const session = createSessionCookie(ring, cookies, sessions, oidc.absoluteTtlMs)
  return {
    // The nonce of the id_token binds the code to this browser by itself (RFC 9700 section 2.1.1), and Entra does not announce PKCE.
    login: { registration: { ...oidc, name: 'the login', assumesS256: true }, principal, attempts: createAttempts(ring, cookies, records), session },
    identity: createIdentity(urls, session)
  }
}

function createIdentity (urls: Urls, session: SessionCookie): BrowserIdentity {
  const { pathname } = new URL(urls.login())
  const startUrl = (parameters: Record<string, string>): string => `${pathname}?${new URLSearchParams(parameters).toString()}`
  return {
    async identify (request) {
      const found = await session.find(request)
      return found === null ? null : { ...found.principal, label: found.label }
    },
    signInUrl: returnTo => startUrl({ returnTo }),
    // The authorization server has a session of its own, and would name the same account again.
    switchAccountUrl: returnTo => startUrl({ returnTo, prompt: 'login' })
  }
}
