const MEND = 'make one with: openssl rand -base64 32'

/** Secrets that stand in documentation, and so in attackers' lists. Compared without case. */
const KNOWN = [
  'complex_password_at_least_32_characters_long',
  'averylogphrasebiggerthanthirtytwochars',
  'a secret with minimum length of 32 characters'
]

/**
 * Reads a configured secret: 32 random bytes or more, in base64, base64url or hexadecimal.
 * @returns the bytes, or a sentence that says what is wrong and how to mend it
 */
export function parseSecret (value: string): Buffer | string {
  if (KNOWN.includes(value.toLowerCase())) return `is an example from documentation; ${MEND}`
  const hexadecimal = /^[0-9a-f]*$/i.test(value)
  if (!hexadecimal && !/^[\w+/-]*={0,2}$/.test(value)) return `must be base64 or hexadecimal; ${MEND}`
  const bytes = Buffer.from(value, hexadecimal ? 'hex' : 'base64')
  if (bytes.length < 32) return `must be 32 bytes or more, and is ${bytes.length}; ${MEND}`
  // 32 random bytes fail each of these checks with a probability below 1e-9.
  const wordlike = hexadecimal ? !/\d/.test(value) || !/[a-f]/i.test(value) : !/[a-z]/.test(value) || !/[A-Z]/.test(value)
  const text = bytes.every(byte => byte >= 0x20 && byte < 0x7F)
  const ladder = new Set(bytes.map((byte, i) => byte - (bytes[i - 1] ?? 0)).subarray(1)).size === 1
  if (wordlike || text || ladder || new Set(bytes).size < 16) return `does not look random; ${MEND}`
  return bytes
}
