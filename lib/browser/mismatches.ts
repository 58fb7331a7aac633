import type { FastifyBaseLogger } from 'fastify'
import { hashPrincipal } from '../principal.js'
import type { Principal } from '../types.js'

/** So many people who are all somebody else are no attack. */
const SUSPICIOUS = 3

/**
 * Tells an attack, which is about one user, from a wrong configuration, which is about all of them: the operator is told once when
 * several users have come to this process with links that were not theirs, and nobody with one that was. Nobody is named.
 */
export interface Mismatches {
  /** @param differing in which members the user in the browser differs from the one who asked; empty: not at all */
  note (visitor: Principal, differing: ReadonlyArray<keyof Principal>): void
}

export function createMismatches (log: FastifyBaseLogger): Mismatches {
  const strangers = new Set<string>()
  const members = new Set<keyof Principal>()
  let settled = false
  return {
    note (visitor, differing) {
      if (settled) return
      if (differing.length > 0) {
        strangers.add(hashPrincipal(visitor))
        for (const member of differing) members.add(member)
      }
      settled = differing.length === 0 || strangers.size === SUSPICIOUS
      if (strangers.size < SUSPICIOUS) return
      log.error(`mcp-connect: of all users who opened a link so far (${SUSPICIOUS}), none is the one who asked; they differ in: ${[...members].join(', ')}. ` +
        'This looks like a wrong configuration and not like an attack: principal(claims) of the access token, and the login in the browser ' +
        '(browser.identify, or principal(claims) of an oidcLogin), must give the same for the same person, character by character')
    }
  }
}
