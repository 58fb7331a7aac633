import { z } from 'zod'
import { hashFields } from './encoding.js'
import type { Principal } from './types.js'

const part = z.string().min(1).max(1024)
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

/**
 * What is wrong with a principal that the host application made, without repeating it. A promise is none, and must not end the
 * process if it rejects.
 */
export function describeNoPrincipal (value: unknown): string {
  const { issuer, subject, tenant, then } = Object(value) as Readonly<Record<string, unknown>>
  if (typeof then === 'function') {
    Promise.resolve(value).catch(() => {})
    return 'what it gave is a promise'
  }
  const wrong = Object.entries({ issuer, subject, tenant }).filter(([name, member]) => !part.safeParse(member).success && (name !== 'tenant' || member !== undefined))
  return wrong.map(([name, member]) => `its ${name} is ${member === undefined ? 'missing' : typeof member === 'string' ? 'empty or too long' : `no string (${typeof member})`}`).join(', ')
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

/** Names what a principal connects, or has connected, in keys and messages. */
export function hashConnection (principal: Principal, provider: string): string {
  return hashFields('connection', hashPrincipal(principal), provider)
}
