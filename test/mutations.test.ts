import { existsSync, readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { lists, withoutControls } from './mutations/lists.js'
import { mutate, type Mutation } from './mutations/mutation.js'
import { createSandbox } from './mutations/runner.js'

// The mutations themselves take their time: npm run test:mutations.

const root = new URL('..', import.meta.url)
const all = Object.values(lists).flat()
const textOf = (file: string): string => readFileSync(new URL(file, root), 'utf8')

t.test('each mutation finds its control, once, and its tests are there', async t => {
  for (const mutation of all) {
    const mutated = mutate(mutation, textOf)
    if (mutated === null || [...mutated].some(([file, text]) => text === textOf(file))) t.fail(`${mutation.file}: ${mutation.name}`)
    if (!mutation.tests.every(test => existsSync(new URL(test, root)))) t.fail(`${mutation.file}: ${mutation.name}: no such test`)
  }
  const names = all.map(({ file, name }) => `${file}: ${name}`)
  t.strictSame(names.filter((name, i) => names.indexOf(name) !== i), [], 'each has a name of its own')
})

t.test('each file of these folders has its mutations, or a reason to have none', async t => {
  const mutated = new Set(all.map(({ file }) => file))
  for (const folder of Object.keys(lists)) {
    for (const path of readdirSync(new URL(`lib/${folder}`, root), { recursive: true, encoding: 'utf8' })) {
      const file = `lib/${folder}/${path}`
      if (/\.m?ts$/.test(file)) t.equal(mutated.has(file), !(file in withoutControls), file)
    }
  }
})

t.test('a test turns red when its control is gone, and stays green after a change that matters to nobody', async t => {
  const sandbox = await createSandbox()
  t.teardown(() => sandbox.remove())
  const limiter: Mutation = { name: 'nothing is limited', file: 'lib/state/limiter.ts', find: 'result.count <= max', replace: 'result.count >= 0', tests: ['test/state/limiter.test.ts'] }
  t.match(await sandbox.tryOut(limiter), { kind: 'killed', test: 'test/state/limiter.test.ts', title: 'so many, and no more; the first one beyond says so' })
  t.match(await sandbox.tryOut({ ...limiter, replace: 'max >= result.count' }), { kind: 'survived' })
  t.match(await sandbox.tryOut({ ...limiter, replace: 'result.count <= (' }), { kind: 'broken', output: /limiter\.ts/ }, 'what does not load is no red test')
  t.match(await sandbox.tryOut({ ...limiter, find: 'max' }), { kind: 'stale' })
  const also = [{ file: 'lib/ip-address.ts', find: "range === 'loopback' && loopback", replace: 'false' }]
  t.match(await sandbox.tryOut({ ...limiter, replace: 'max >= result.count', also, tests: ['test/ip-address.test.ts'] }), { kind: 'killed' }, 'it may be gone from another file, too')
  const headers: Mutation = { name: 'robots list pages', file: 'lib/browser/headers.ts', find: "'x-robots-tag': 'noindex'", replace: "'x-robots-tag': 'all'", tests: ['test/browser/lost-key.test.ts'] }
  t.match(await sandbox.tryOut(headers), { kind: 'killed', test: headers.tests[0] }, 'the watch over a test makes it red, too')
})
