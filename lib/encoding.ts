import { hash } from 'node:crypto'

/**
 * Joins fields so that no two lists give the same bytes: each field is preceded by its length, and taken code unit
 * by code unit (UTF-8 would make lone surrogates equal).
 */
export function encodeFields (fields: readonly string[]): Buffer {
  const bytes = Buffer.alloc(fields.reduce((size, field) => size + 4 + 2 * field.length, 0))
  let at = 0
  for (const field of fields) {
    at = bytes.writeUInt32BE(2 * field.length, at)
    at += bytes.write(field, at, 'utf16le')
  }
  return bytes
}

/** SHA-256 of the given fields: 64 hexadecimal digits. */
export function hashFields (...fields: readonly string[]): string {
  return hash('sha256', encodeFields(fields))
}
