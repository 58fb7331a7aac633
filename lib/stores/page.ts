export interface Position {
  readonly owner: string
  readonly name: string
}

/** Makes a page of `limit + 1` entries or fewer, in the order of owner and name: one more than asked for tells that there is more. */
export function pageOf (found: readonly Position[], limit: number): { entries: Position[], cursor: string | null } {
  const entries = found.slice(0, limit).map(({ owner, name }) => ({ owner, name }))
  const last = entries.at(-1)
  return { entries, cursor: found.length > limit && last !== undefined ? `${last.owner}.${last.name}` : null }
}

/** Where a page begins: after this entry. Owners and names are hexadecimal, so that the empty string comes before all of them. */
export function afterCursor (cursor: string = '.'): Position {
  const [owner = '', name = ''] = cursor.split('.')
  return { owner, name }
}
