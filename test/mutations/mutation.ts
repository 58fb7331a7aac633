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
  /** Where one control stands in more than one place. */
  readonly also?: readonly Edit[]
}

/** The mutations of one file, and the tests of all those that name none of their own. */
export function mutationsOf (file: string, tests: readonly string[], ...mutations: ReadonlyArray<Omit<Mutation, 'file' | 'tests'> & Partial<Pick<Mutation, 'tests'>>>): readonly Mutation[] {
  return mutations.map(mutation => ({ file, tests, ...mutation }))
}

/**
 * The text without the control.
 * @returns `null` when the mutation is stale: what it looks for is not there, or more than once
 */
export function mutate (text: string, { find, replace, also = [] }: Omit<Mutation, 'name' | 'file' | 'tests'>): string | null {
  const [before, after, ...more] = text.split(find)
  if (before === undefined || after === undefined || more.length > 0) return null
  const [next, ...rest] = also
  const changed = before + replace + after
  return next === undefined ? changed : mutate(changed, { ...next, also: rest })
}
