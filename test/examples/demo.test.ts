import { join } from 'node:path'
import t from 'tap'
import { startDemo } from '../../examples/demo/start.js'
import { tellStory } from '../../examples/demo/story.js'

t.setTimeout(60_000)

/** @returns what a run says */
async function run (database: string): Promise<string> {
  const lines: string[] = []
  const demo = await startDemo({ database })
  try {
    await tellStory(demo, { auto: true, signal: new AbortController().signal, say: line => { lines.push(line) } })
  } finally {
    await demo.close()
  }
  return lines.join('\n')
}

t.test('the demo finds its connection again on a second run', async t => {
  const database = join(t.testdir(), 'demo.db')
  const first = await run(database)
  t.match(first, /"code": -32042/)
  t.match(first, /elicitation\/complete/)
  const second = await run(database)
  t.notMatch(second, /-32042/)
  t.match(second, /in an earlier run/)
  t.match(second, /rabbit hole/)
})
