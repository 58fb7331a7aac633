import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { mutate, type Mutation } from './mutation.js'

/** What turned red without a control, which this version of its file shows. */
export interface Recorded {
  readonly file: string
  readonly name: string
  /** Of the text without the control: as long as it is the same, so is what was found. */
  readonly hash: string
  readonly test: string
  /** Of the test that turned red: as long as it is there. */
  readonly title: string
}

const FILE = new URL('results.json', import.meta.url)

/** What earlier runs have found, one on each line. */
export function readRecord (): readonly Recorded[] {
  return JSON.parse(readFileSync(FILE, 'utf8')) as Recorded[]
}

export function writeRecord (recorded: readonly Recorded[]): void {
  writeFileSync(FILE, `[\n${recorded.map(one => JSON.stringify(one)).join(',\n')}\n]\n`)
}

/** Of the text of a file without its control. */
export function hashOf (mutation: Mutation, textOf: (file: string) => string): string {
  const hash = createHash('sha256')
  for (const [file, text] of mutate(mutation, textOf) ?? []) hash.update(`${file}\0${text}\0`)
  return hash.digest('base64url').slice(0, 16)
}

/** What was found of a mutation and still holds: neither its file nor the test has changed. */
export function findRecorded (record: readonly Recorded[], mutation: Mutation, textOf: (file: string) => string): Recorded | undefined {
  return record.find(({ file, name, hash, test, title }) => file === mutation.file && name === mutation.name &&
    mutation.tests.includes(test) && hash === hashOf(mutation, textOf) && textOf(test).includes(quoted(title)))
}

/** As a title stands in a test. */
function quoted (title: string): string {
  return title.replaceAll("'", "\\'")
}
