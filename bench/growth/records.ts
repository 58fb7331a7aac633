import { createHash, randomBytes } from 'node:crypto'

export const HOUR_MS = 3_600_000

const digest = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Keys that can be told again from their number, here and in SQL; the kind keeps those that live and those that have expired apart. */
export const stateKey = (kind: string, i: number): string => `elicitation:${digest(`${kind} ${i}`)}`

/** Two grants an owner. */
export const ownerOf = (i: number): string => digest(`owner ${Math.floor(i / 2)}`)
export const nameOf = (i: number): string => digest(`name ${i}`)

export const STATE_LENGTH = 700
export const VAULT_LENGTH = 900
export const randomValue = (length: number): string => randomBytes(length * 3 / 4).toString('base64url')

/** The same in PostgreSQL, where `i` is the number. */
export const SQL = {
  stateKey: (kind: string): string => `'elicitation:' || encode(sha256(('${kind} ' || i)::bytea), 'hex')`,
  owner: "encode(sha256(('owner ' || i / 2)::bytea), 'hex')",
  name: "encode(sha256(('name ' || i)::bytea), 'hex')",
  value: (length: number): string => `left(repeat(md5(i::text), 32), ${length})`
}
