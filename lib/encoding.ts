import { createHash } from 'node:crypto'

/**
 * Joins fields so that no two lists give the same bytes: each field is preceded by its length, and taken code unit
 * by code unit (UTF-8 would make lone surrogates equal).
 */
export function encodeFields (fields: readonly string[]): Buffer {
  return Buffer.concat(fields.flatMap(field => {
    const bytes = Buffer.from(field, 'utf16le')
    const length = Buffer.alloc(4)
    length.writeUInt32BE(bytes.length)
    return [length, bytes]
  }))
}

/** SHA-256 of the given fields: 64 hexadecimal digits. */
export function hashFields (...fields: readonly string[]): string {
  return createHash('sha256').update(encodeFields(fields)).digest('hex')
}
