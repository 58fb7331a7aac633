import type { BrowserSessions } from '../../state/browser-sessions.js'
import type { RecordServices } from '../../state/records.js'
import type { BrowserIdentity, OidcLogin } from '../../types.js'
import type { KeyRing } from '../../vault/key-ring.js'
import type { Cookies } from '../cookies.js'
import type { Urls } from '../urls.js'
import type { LoginServices } from './login-services.js'
import { createPendingSignIns } from './pending-sign-ins.js'
import { createSessionCookie, type SessionCookie } from './session-cookie.js'

interface LoginParts extends Pick<LoginServices, 'principal'> {
  readonly sessions: BrowserSessions
  readonly ring: KeyRing
  readonly cookies: Cookies
  readonly records: RecordServices
  readonly urls: Urls
}

/** The login of the plugin, for applications without one: what its routes work with, and whom it says to be in front of the browser. */
export function createLogin (oidc: OidcLogin, { principal, sessions, ring, cookies, records, urls }: LoginParts):
{ readonly login: LoginServices, readonly identity: BrowserIdentity } {
  const session = createSessionCookie(ring, cookies, sessions, oidc)
  return {
    login: {
      // The nonce of the id_token binds the code of a confidential client by itself (RFC 9700 section 2.1.1), and Entra does not announce PKCE.
      registration: { ...oidc, name: 'the login', assumesS256: oidc.clientSecret !== undefined || oidc.privateKey !== undefined },
      principal,
      pending: createPendingSignIns(ring, cookies, records),
      session
    },
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
    switchAccountUrl: returnTo => startUrl({ returnTo, switch: 'true' })
  }
}
