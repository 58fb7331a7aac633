import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { busContract, stateContract, vaultContract } from '../../lib/testing/index.js'

t.setTimeout(400_000)

t.test('docs/adapters.md: the test of an adapter runs as it stands there', async t => {
  const page = readFileSync(new URL('../../docs/adapters.md', import.meta.url), 'utf8')
  const [, code = ''] = /```ts\n(import \{ busContract.*?)```/s.exec(page) ?? []
  const folder = t.testdir({
    'my-store.ts': `import { memoryStore } from 'fastify-mcp-connect'
      const store = memoryStore()
      export const createStore = () => store`,
    'my-store.test.ts': code
  })
  const args = ['--import', 'tsx', '--test-reporter=tap', join(folder, 'my-store.test.ts')]
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: { PATH: process.env['PATH'] }, maxBuffer: 1e8 })
  t.match(stdout, new RegExp(`^# pass ${vaultContract.length + stateContract.length + busContract.length}$`, 'm'))
  t.match(stdout, /^# fail 0$/m)
})
