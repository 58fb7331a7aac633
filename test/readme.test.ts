import { UrlElicitationRequiredError } from '@modelcontextprotocol/sdk/types.js'
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'
import { openMcpSession } from './fixtures/mcp-session.js'

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')
const readme = read('README.md')

t.test('the first example is the file that it names, is short, and does what it says', async t => {
  const [, path = '', code = ''] = /<!-- (\S+) -->\n```ts\n(.*?)```/s.exec(readme)!
  t.equal(code, read(path))
  t.ok(code.trimEnd().split('\n').length <= 25)

  Object.assign(process.env, { CONNECT_KEY: randomBytes(32).toString('base64'), GITHUB_CLIENT_ID: 'id', GITHUB_CLIENT_SECRET: 'secret' })
  const { app, createServer } = await import('../examples/quick-start/app.js')
  t.teardown(() => app.close())
  const session = await openMcpSession(createServer(), { user: { issuer: 'https://login.example.com', subject: 'a' } })
  t.teardown(() => session.close())
  const error = await session.client.callTool({ name: 'list-issues' }).catch(error => error)
  t.ok(error instanceof UrlElicitationRequiredError)
  t.match(error.elicitations, [{ message: 'Connect GitHub to list your issues.', url: /^https:\/\/mcp\.example\.com\/connect\/[\w-]{43}$/ }])
})

t.test('every option stands in the table, with its default', async t => {
  const source = read('lib/options.ts')
  const schema = source.slice(source.indexOf('const schema'), source.indexOf('/**\n * Checks the options'))
  const options = [...schema.matchAll(/^ {2}(\w+)[:,]/gm)].map(([, name]) => name)
  t.ok(options.length > 10)
  for (const name of options) t.match(readme, `| \`${name}\` |`)
})

t.test('the files that it points to are there', async t => {
  for (const [, path = ''] of readme.matchAll(/\]\((?!https?:)([^)#]+)\)/g)) t.ok(existsSync(new URL(`../${path}`, import.meta.url)), path)
})
