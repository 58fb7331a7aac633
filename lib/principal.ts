import { z } from 'zod'
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

/** Compares code unit by code unit. */
export function samePrincipal (a: Principal, b: Principal): boolean {
  return a.issuer === b.issuer && a.subject === b.subject && a.tenant === b.tenant
}

/** The members in a fixed order. An absent tenant is the empty string, which no tenant can be. */
export function principalFields ({ tenant = '', issuer, subject }: Principal): readonly string[] {
  return [tenant, issuer, subject]
}
