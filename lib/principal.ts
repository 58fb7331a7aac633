import { z } from 'zod'
import type { AuditIds } from './audit-events.js'
import { hashFields } from './encoding.js'
import type { Principal } from './types.js'

// Not min() and max(), which compare the length of whatever has one, and throw when it is no number.
const part = z.string().regex(/^.{1,1024}$/su)
const schema = z.object({ issuer: part, subject: part, tenant: part.optional() })

/**
 * Reads a principal that the host application made.
 * @returns `null` when a member is missing or is no string of 1 to 1024 characters
 */
export function parsePrincipal (value: unknown): Principal | null {
  const result = schema.safeParse(value)
  if (!result.success) return null
  const { issuer, subject, tenant } = result.data
  return tenant === undefined ? { issuer, subject } : { issuer, subject, tenant }
}

/** Says what is wrong with a principal that the host application made, without repeating it. */
export function explainInvalidPrincipal (value: unknown): string {
  const { issuer, subject, tenant, then } = Object(value) as Readonly<Record<string, unknown>>
  if (typeof then === 'function') {
    Promise.resolve(value).catch(() => {})                 // it may reject, and nobody waits for it
    return 'what it gave is a promise, and it must not be async'
  }
  const members = Object.entries({ issuer, subject, ...tenant !== undefined && { tenant } })
  return members.map(([name, member]) => [name, whatIsWrong(member)]).filter(([, wrong]) => wrong !== null).map(words => `its ${words.join(' ')}`).join(', ')
}

function whatIsWrong (member: unknown): string | null {
  if (member === undefined) return 'is missing'
  if (member === null) return 'is null'
  if (typeof member !== 'string') return `is not a string but a ${typeof member}`
  return part.safeParse(member).success ? null : 'is empty or too long'
}

/** The members in which two principals differ, code unit by code unit. */
export function differingMembers (a: Principal, b: Principal): ReadonlyArray<keyof Principal> {
  return (['issuer', 'subject', 'tenant'] as const).filter(member => a[member] !== b[member])
}

/** The members in a fixed order. An absent tenant is the empty string, which no tenant can be. */
export function principalFields ({ tenant = '', issuer, subject }: Principal): readonly string[] {
  return [tenant, issuer, subject]
}

/** Names a principal in keys, without telling who it is. */
export function hashPrincipal (principal: Principal): string {
  return hashFields('principal', ...principalFields(principal))
}

/** Names a principal and its tenant in audit events. */
export function auditIdsOf (principal: Principal): AuditIds {
  const { tenant } = principal
  return { principal: hashPrincipal(principal), ...tenant !== undefined && { tenant: hashFields('tenant', tenant) } }
}

/** Names an MCP client in audit events. */
export function hashClient (id: string): string {
  return hashFields('client', id)
}

/** Names what a principal connects, or has connected, in keys and messages. */
export function hashConnection (principal: Principal, provider: string): string {
  return hashFields('connection', hashPrincipal(principal), provider)
}
