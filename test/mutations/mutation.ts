/** One change of the text of a file. */
export interface Edit {
  /** Stands in the file exactly once, so that a control that has moved is noticed. */
  readonly find: string
  readonly replace: string
}

/** Removes or inverts one control. */
export interface Mutation extends Edit {
  /** Says what is the case once the control is gone. */
  readonly name: string
  readonly file: string
  /** Of these files at least one test must turn red; they run in this order, until one has. */
  readonly tests: readonly string[]
  /** Where one control stands in more than one place, perhaps in another file. */
  readonly also?: ReadonlyArray<Edit & { readonly file?: string }>
}

/** The mutations of one file, and the tests of all those that name none of their own. */
export function mutationsOf (file: string, tests: readonly string[], ...mutations: ReadonlyArray<Omit<Mutation, 'file' | 'tests'> & Partial<Pick<Mutation, 'tests'>>>): readonly Mutation[] {
  return mutations.map(mutation => ({ file, tests, ...mutation }))
}

/**
 * The texts without the control, by file.
 * @returns `null` when the mutation is stale: what it looks for is not there, or more than once
 */
export function mutate ({ file, find, replace, also = [] }: Omit<Mutation, 'name' | 'tests'>, textOf: (file: string) => string): ReadonlyMap<string, string> | null {
  const texts = new Map<string, string>()
  for (const edit of [{ file, find, replace }, ...also]) {
    const path = edit.file ?? file
    const [before, after, ...more] = (texts.get(path) ?? textOf(path)).split(edit.find)
    if (before === undefined || after === undefined || more.length > 0) return null
    texts.set(path, before + edit.replace + after)
  }
  return texts
}
