import { writeFile } from 'node:fs/promises'
import type { Mutation } from './mutation.js'
import type { Recorded } from './record.js'

const FILE = new URL('../../docs/mutations.md', import.meta.url)

/** Writes the results down, a table for each folder. */
export async function writeReport (lists: Readonly<Record<string, readonly Mutation[]>>, record: ReadonlyMap<Mutation, Recorded | undefined>): Promise<void> {
  const killedOf = (mutations: readonly Mutation[]): number => mutations.filter(mutation => record.get(mutation) !== undefined).length
  const folders = Object.entries(lists)
  const all = folders.flatMap(([, mutations]) => mutations)
  const date = new Date().toISOString().slice(0, 10)
  await writeFile(FILE, `# Mutations

Each control of these folders is removed or inverted, one at a time, and the tests are run: at least one must turn red. A
control that can be deleted unseen is none. \`npm run test:mutations\` does that and writes this page; the lists are in
\`test/mutations\`, and \`test/mutations.test.ts\` keeps them in step with the code. What one run has found holds for the next as long
as neither the file nor the test that turned red has changed; \`--all\` runs everything anew. Where a row says **none yet**, no test was seen
red: the mutation has survived, or was not run since one of them changed.

Last run: ${date}, Node ${process.version}. ${all.length} mutations, ${killedOf(all)} killed.

| folder | mutations | killed |
|---|---|---|
${folders.map(([folder, mutations]) => `| [${folder}](#${folder}) | ${mutations.length} | ${killedOf(mutations)} |`).join('\n')}

${folders.map(([folder, mutations]) => section(folder, mutations, record)).join('\n')}`)
}

function section (folder: string, mutations: readonly Mutation[], record: ReadonlyMap<Mutation, Recorded | undefined>): string {
  const rows = mutations.map(mutation => {
    const recorded = record.get(mutation)
    const red = recorded === undefined ? '**none yet**' : `${recorded.title} (${recorded.test.replace('test/', '')})`
    return `| ${mutation.file.replace(`lib/${folder}/`, '')} | ${cell(mutation.name)} | ${cell(red)} |`
  })
  return `## ${folder}\n\n| file | without the control | the test that turns red |\n|---|---|---|\n${rows.join('\n')}\n`
}

function cell (text: string): string {
  return text.replace(/[|<\\]/g, '\\$&')
}
