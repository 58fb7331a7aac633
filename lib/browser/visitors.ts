import type { FastifyReply, FastifyRequest } from 'fastify'
import { IdentityInvalidError, SignInUrlInvalidError } from '../errors.js'
import { plainText } from '../plain-text.js'
import { explainInvalidPrincipal, parsePrincipal } from '../principal.js'
import type { BrowserIdentity, Principal } from '../types.js'

/** Who is in front of the browser. */
export interface Visitor {
  readonly principal: Principal
  /** How the account is named to the person. */
  readonly label: string
}

/**
 * Asks the login who is signed in.
 * @returns `null` when nobody is
 * @throws FST_MCP_CONNECT_IDENTITY_INVALID
 */
export async function findVisitor (browser: BrowserIdentity, request: FastifyRequest, reply: FastifyReply): Promise<Visitor | null> {
  const user = await browser.identify(request, reply) ?? null
  if (user === null) return null
  const principal = parsePrincipal(user)
  if (principal === null) throw new IdentityInvalidError('browser.identify must return null, or', explainInvalidPrincipal(user))
  return { principal, label: plainText(String(user.label ?? ''), 100) || plainText(principal.subject, 100) }
}

/**
 * Asks the login where people sign in.
 * @returns `null` when it does not say
 * @throws FST_MCP_CONNECT_SIGN_IN_URL_INVALID
 */
export function findSignInUrl (browser: BrowserIdentity, returnTo: string): string | null {
  return checkUrl(browser.signInUrl?.(returnTo))
}

/** The same for those who are signed in, and want to be somebody else. */
export function findSwitchAccountUrl (browser: BrowserIdentity, returnTo: string): string | null {
  return checkUrl(browser.switchAccountUrl?.(returnTo))
}

function checkUrl (url: unknown = null): string | null {
  if (url === null) return null
  if (typeof url !== 'string' || !/^(\/(?![/\\])|https?:\/\/)[\x21-\x7E]*$/i.test(url)) throw new SignInUrlInvalidError()
  return url
}
