import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path/posix'
import t from 'tap'
import { fillIn, idsOf, readTests, rowsOf } from './fixtures/cases.js'

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')
const cases = read('docs/cases.md')
const conformance = read('docs/conformance.md')
const security = read('SECURITY.md')
const tests = readTests()

const rows = rowsOf(cases)
const statusOf = new Map(rows.map(row => [row[0]!, row.at(-1)!]))
const isShown = (id: string): boolean => statusOf.get(id)?.startsWith('shown: ') === true
/** The cases that a text names, beside tests by file and title. */
const casesIn = (text: string): string[] => [...withoutTests(text).matchAll(/\b(?:BND|STA|OAR|BRW|INP|RLM|VLT|LOG|TEN|REC|CAP|RQS)-\d\d\b|\bT\d\d\b(?!-)/g)].map(([id]) => id)
const withoutTests = (text: string): string => text.replaceAll(/`test\/[^`]+`(?:: (?:"[^"]+"(?:, )?)+)?/g, '')

/** The features that cases and statements wait for: the second table of docs/cases.md. */
const features = [...cases.slice(0, cases.indexOf('\n## ')).matchAll(/^\| ([\w -]+) \| \w/gm)].map(([, feature]) => feature!)
const waitsFor = (text: string): boolean => features.some(feature => new RegExp(`^waits for ${feature}(?:[.;] .*)?$`, 'i').test(text))

t.test('each case is shown by tests, or says what it waits for, or why it does not apply', async t => {
  t.equal(statusOf.size, rows.length, 'each stands there once')
  t.equal(fillIn(cases, tests), cases, 'the files are those that have it: npm run docs:cases')
  const shown = new Set(tests.flatMap(({ titles }) => titles.flatMap(idsOf)))
  for (const [id, status] of statusOf) {
    if (status.startsWith('shown')) t.ok(shown.has(id), `${id} is in the title of a test`)
    else {
      t.ok(waitsFor(status) || /^does not apply: \w/.test(status), `${id} ${status}`)
      t.notOk(shown.has(id), `${id}, which is not shown, is in no title`)
    }
  }
})

t.test('each id in the title of a test is that of a case or of a statement', async t => {
  const known = new Set([...statusOf.keys(), ...rowsOf(conformance).map(([id]) => id!)])
  for (const { path, titles } of tests) {
    for (const title of titles) for (const id of idsOf(title)) t.ok(known.has(id), `${id} of ${path}`)
  }
})

t.test('each statement is shown, does not apply, or waits for a feature', async t => {
  const statements = rowsOf(conformance)
  t.equal(new Set(statements.map(([id]) => id)).size, statements.length, 'each stands there once')
  for (const [id, strength, statement, answer, more] of statements) {
    t.ok(more === undefined && /^(?:-|(?:(?:MN?|SN?|may)(?:, (?=\w))?)+)(?: a)?$/.test(strength!) && statement !== '', `${id} has four cells`)
    const kinds = [/^Shown: /.test(answer!), /^Does not apply: \w/.test(answer!), waitsFor(answer!)]
    t.equal(kinds.filter(Boolean).length, 1, `${id} has one answer: ${answer}`)
    if (!kinds[0]) continue
    // What stands behind the first full stop is said beside.
    const [shown = ''] = answer!.split(/(?<=\w|")\. /)
    t.ok(casesIn(shown).length > 0 || shown.includes('`test/'), `${id} names what shows it`)
    for (const one of casesIn(shown)) t.ok(isShown(one), `${id}: ${one} is shown`)
  }
})

t.test('each guarantee names what shows it', async t => {
  const guarantees = [...security.split('\n## What is guaranteed\n')[1]!.split('\n## ')[0]!.matchAll(/^\| (.+) \| (.+) \| (.+) \|$/gm)].slice(1)
  t.ok(guarantees.length > 20)
  for (const [, guarantee, , shown] of guarantees) {
    t.ok(casesIn(shown!).length > 0 || shown!.includes('`test/'), guarantee!)
    for (const id of casesIn(shown!)) t.ok(isShown(id), `${id} is shown`)
  }
})

t.test('what these pages name is there', async t => {
  for (const [path, text] of Object.entries({ 'SECURITY.md': security, 'docs/cases.md': cases, 'docs/conformance.md': conformance })) {
    for (const id of casesIn(text)) t.ok(statusOf.has(id), `${path}: ${id}`)
    for (const [, file, titles = ''] of text.matchAll(/`(test\/[\w./-]+\.test\.ts)`(?:: ((?:"[^"]+"(?:, )?)+))?/g)) {
      const named = tests.find(test => test.path === file)
      t.ok(named !== undefined, `${path}: ${file}`)
      for (const [, fragment = ''] of titles.matchAll(/"([^"]+)"/g)) t.ok(named?.titles.some(title => title.includes(fragment)), `${path}: ${file}: ${fragment}`)
    }
    for (const [, link = '', heading] of text.matchAll(/\]\((?!https?:)([^)#]+)(?:#([^)]+))?\)/g)) {
      const target = join(dirname(path), link)
      t.ok(existsSync(new URL(`../${target}`, import.meta.url)), `${path}: ${target}`)
      if (heading !== undefined) t.ok(headingsOf(read(target)).includes(heading), `${path}: ${target}#${heading}`)
    }
  }
  const { files } = JSON.parse(read('package.json')) as { files: string[] }
  t.ok(['SECURITY.md', 'docs'].every(path => files.includes(path)), 'they are in the package')
})

function headingsOf (markdown: string): string[] {
  return [...markdown.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading.toLowerCase().replaceAll(/[^\w\- ]/g, '').replaceAll(' ', '-'))
}
