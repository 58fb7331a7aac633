import type { FastifyRequest } from 'fastify'
import { elicitationHash, type Elicitation } from '../elicitation/elicitations.js'
import { NotFoundError, SubjectMismatchError } from '../errors.js'
import { differingMembers } from '../principal.js'
import { remember } from './request-notes.js'
import type { BrowserServices } from './services.js'
import type { Visitor } from './visitors.js'

/** An elicitation of the visitor's own. */
export interface Own {
  readonly id: string
  readonly hash: string
  readonly elicitation: Elicitation
}

/**
 * Whoever opens the link must be whoever asked (MCP 2025-11-25, elicitation, "Phishing").
 * @throws FST_MCP_CONNECT_NOT_FOUND, also for another tenant's; FST_MCP_CONNECT_SUBJECT_MISMATCH
 */
export async function findOwn ({ elicitations, mismatches }: BrowserServices, request: FastifyRequest, id: string, { principal }: Visitor): Promise<Own> {
  const hash = elicitationHash(id)
  const elicitation = await elicitations.find(hash)
  if (elicitation === null) throw new NotFoundError()
  const differing = differingMembers(elicitation.principal, principal)
  remember(request, { about: { provider: elicitation.provider, elicitation: hash }, ...differing.length > 0 && { mismatch: { owner: elicitation.principal, differing } } })
  mismatches.note(principal, differing)
  if (differing.includes('tenant')) throw new NotFoundError()      // whether it exists is not told to another tenant
  if (differing.length > 0) throw new SubjectMismatchError(differing.join(' and '))
  remember(request, { elicitationId: id })
  return { id, hash, elicitation }
}
