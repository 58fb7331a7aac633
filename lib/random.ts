import { randomBytes } from 'node:crypto'

/** What {@link randomToken} makes. */
export const RANDOM_TOKEN = /^[\w-]{43}$/

/** 32 random bytes in base64url: 43 characters. For ids, states and cookies. */
export function randomToken (): string {
  return randomBytes(32).toString('base64url')
}
