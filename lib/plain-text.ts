/** One line of plain text: no control, formatting, bidirectional or invisible characters, and no more than `length` characters. */
export function plainText (text: string, length: number): string {
  // Cut first, so that a megabyte costs no more than what is shown of it.
  const line = text.slice(0, 4 * length).replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\s]+/gu, ' ').trim()
  const characters = [...line]
  return characters.length <= length ? line : `${characters.slice(0, length - 1).join('')}…`
}
