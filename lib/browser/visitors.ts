import type { FastifyReply, FastifyRequest } from 'fastify'
import { IdentityInvalidError, SignInRequiredError } from '../errors.js'
import { plainText } from '../plain-text.js'
import { parsePrincipal } from '../principal.js'
import type { BrowserIdentity, Principal } from '../types.js'

/** Who is in front of the browser. */
export interface Visitor {
  readonly principal: Principal
  /** How the account is named to the person. */
  readonly label: string
}

/**
 * Asks the host application who is signed in.
 * @throws FST_MCP_CONNECT_SIGN_IN_REQUIRED, FST_MCP_CONNECT_IDENTITY_INVALID
 */
export async function requireVisitor (browser: BrowserIdentity, request: FastifyRequest, reply: FastifyReply): Promise<Visitor> {
  const user = await browser.identify(request, reply)
  if (user === null || user === undefined) throw new SignInRequiredError()
  const principal = parsePrincipal(user)
  if (principal === null) throw new IdentityInvalidError()
  return { principal, label: plainText(user.label ?? principal.subject, 100) }
}
