/** One line of plain text: no control, formatting or bidirectional characters, and no more than `length` characters. */
export function plainText (text: string, length: number): string {
  // Cut first, so that a megabyte costs no more than what is shown of it.
  const line = text.slice(0, 4 * length).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ').trim()
  const characters = [...line]
  return characters.length <= length ? line : `${characters.slice(0, length - 1).join('')}…`
}
