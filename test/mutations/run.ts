import { parseArgs } from 'node:util'
import { readFileSync } from 'node:fs'
import { lists } from './lists.js'
import { findRecorded, hashOf, readRecord, writeRecord, type Recorded } from './record.js'
import { writeReport } from './report.js'
import { createSandbox, type Result } from './runner.js'
import type { Mutation } from './mutation.js'

/*
 * Removes or inverts each control, one at a time, and wants a test to turn red: npm run test:mutations -- [--only PATTERN]
 * [--jobs 2] [--all]. PATTERN is a regular expression for the file or the name of a mutation. What an earlier run has found is in
 * results.json, and holds as long as neither the file nor the test that turned red has changed; --all runs those, too.
 */
const { values: { only = '', jobs, all } } = parseArgs({ options: { only: { type: 'string' }, jobs: { type: 'string', default: '2' }, all: { type: 'boolean' } } })

const textOf = (file: string): string => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')
const pattern = new RegExp(only)
const record = readRecord()
const holds = new Map(Object.values(lists).flat().map(mutation => [mutation, findRecorded(record, mutation, textOf)]))
const wanted = [...holds].filter(([{ file, name }, recorded]) => (all === true || recorded === undefined) && (pattern.test(file) || pattern.test(name))).map(([mutation]) => mutation)
const results = new Map<Mutation, Result>()
const unwanted: string[] = []
const startedAt = Date.now()
/** How long each file takes, in milliseconds, without any mutation. */
const usual = new Map<string, number>()
/** With one it may take longer, but not for ever. */
const timeoutOf = (test: string): number => Math.max(15_000, 4 * usual.get(test)!)

/** A test that is red anyway tells nothing. */
async function checkUnchanged (): Promise<void> {
  const tests = [...new Set(wanted.flatMap(mutation => mutation.tests))]
  const red: string[] = []
  await inSandboxes(tests, async (sandbox, test) => {
    const began = Date.now()
    const result = await sandbox.run([test])
    usual.set(test, Date.now() - began)
    if (result.kind === 'killed') red.push(`${test}: ${result.title}`)
    if (result.kind === 'broken') red.push(`${test}: ${result.output}`)
  })
  if (red.length > 0) throw new Error(`red without any mutation:\n${red.join('\n')}`)
  console.log(`${tests.length} test files are green without any mutation`)
}

async function tryAll (): Promise<void> {
  await inSandboxes(wanted, async (sandbox, mutation) => {
    const began = Date.now()
    const result = await sandbox.tryOut(mutation, timeoutOf)
    results.set(mutation, result)
    const line = `${result.kind === 'killed' ? 'killed' : result.kind.toUpperCase()}\t${mutation.file}: ${mutation.name}`
    console.log(`${line} (${((Date.now() - began) / 1000).toFixed(1)} s)${result.kind === 'killed' ? `\n\t${result.test}: ${result.title}` : ''}`)
    if (result.kind === 'broken') console.log(result.output)
    if (result.kind !== 'killed') unwanted.push(line)
  })
}

/** Does the work in as many sandboxes as there are jobs. */
async function inSandboxes<T> (items: readonly T[], work: (sandbox: Awaited<ReturnType<typeof createSandbox>>, item: T) => Promise<void>): Promise<void> {
  const queue = items.values()
  await Promise.all(Array.from({ length: Number(jobs) }, async () => {
    const sandbox = await createSandbox()
    try {
      for (const item of queue) await work(sandbox, item)
    } finally {
      sandbox.remove()
    }
  }))
}

function toRecorded (mutation: Mutation, { test, title }: Extract<Result, { kind: 'killed' }>): Recorded {
  const { file, name } = mutation
  return { file, name, hash: hashOf(mutation, textOf), test, title }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
await checkUnchanged()
await tryAll()
console.log(`\n${wanted.length} mutations, ${wanted.length - unwanted.length} killed, in ${Math.round((Date.now() - startedAt) / 1000)} s`)
for (const line of unwanted) console.log(line)
for (const [mutation, result] of results) holds.set(mutation, result.kind === 'killed' ? toRecorded(mutation, result) : undefined)
writeRecord([...holds.values()].filter(recorded => recorded !== undefined))
await writeReport(lists, holds)
process.exitCode = unwanted.length > 0 ? 1 : 0
