import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { UrlElicitationRequiredError } from '@modelcontextprotocol/sdk/types.js'
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import * as errors from '../lib/errors.js'
import { resolveOptions } from '../lib/options.js'
import { memoryStore } from '../lib/index.js'

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')
const readme = read('README.md')

t.test('code that names a file is that file, and the first example is short', async t => {
  const blocks = [...readme.matchAll(/<!-- (\S+) -->\n```ts\n(.*?)```/gs)].map(([, path = '', code = '']) => ({ path, code }))
  t.equal(blocks.length, 7)
  for (const { path, code } of blocks) t.equal(code, read(path), path)
  t.ok(blocks[0]!.code.trimEnd().split('\n').length <= 25)
})

t.test('the first example and the endpoint do what they say', async t => {
  Object.assign(process.env, { CONNECT_KEY: randomBytes(32).toString('base64'), GITHUB_CLIENT_ID: 'id', GITHUB_CLIENT_SECRET: 'secret' })
  const { app, createServer } = await import('../examples/quick-start/app.js')
  const { addEndpoint } = await import('../examples/quick-start/endpoint.js')
  addEndpoint(app, createServer, async token => {
    if (!token.startsWith('good-')) throw new Error('no such token')
    return { token, clientId: 'client', scopes: [], extra: { iss: 'https://login.example.com', sub: token } }
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  t.teardown(() => app.close())
  const url = new URL(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}/mcp`)
  const transport = (token: string, sessionId?: string): StreamableHTTPClientTransport => new StreamableHTTPClientTransport(url, {
    requestInit: { headers: { authorization: `Bearer ${token}` } }, ...sessionId !== undefined && { sessionId }
  })
  const client = new Client({ name: 'test', version: '1.0.0' }, { capabilities: { elicitation: { url: {} } } })
  const own = transport('good-a')
  await client.connect(own)
  const error = await client.callTool({ name: 'list-issues' }).catch(error => error)
  t.ok(error instanceof UrlElicitationRequiredError)
  t.match(error.elicitations, [{ message: 'Connect GitHub to list your issues.', url: /^https:\/\/mcp\.example\.com\/connect\/[\w-]{43}$/ }])

  const status = async (token: string, headers: Record<string, string> = {}): Promise<number> => (await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
  })).status
  t.equal(await status('bad'), 401)
  t.equal(await status('good-a'), 400, 'no session without initialize')
  t.equal(await status('good-a', { 'mcp-session-id': 'gone' }), 404, 'a client then opens a new one')
  t.equal(await status('good-b', { 'mcp-session-id': own.sessionId! }), 404, 'a session is its owner\'s')
  await own.terminateSession()
  await client.close()
})

t.test('every option stands in the table, with its default', async t => {
  const required = { baseUrl: 'https://mcp.example.com', store: memoryStore(), keys: [randomBytes(32).toString('base64')], browser: { identify: () => null }, providers: {} }
  for (const [name, value] of Object.entries(resolveOptions(required))) {
    const [, shown] = new RegExp(`^\\| \`${name}\` \\| (.*?) \\|`, 'm').exec(readme) ?? []
    t.type(shown, 'string', name)
    if (name in required) t.equal(shown, 'required', name)
    else if (['string', 'number'].includes(typeof value) && name !== 'name') t.equal(shown, `\`${typeof value === 'string' ? `'${value}'` : String(value)}\``, name)
  }
})

t.test('every error code that a program can meet is named, and no other', async t => {
  const named = new Set([...readme.matchAll(/FST_MCP_CONNECT_[A-Z_]+/g)].map(([code]) => code))
  const codes = Object.values(errors).filter(value => typeof value === 'function' && value !== errors.shortCode && value !== errors.NotRunError)
    .map(Class => (new (Class as new (...args: string[]) => { code: string })('', '')).code)
  for (const code of named) t.ok(codes.includes(code), code)
  for (const name of ['OPTIONS', 'NOT_MCP_SERVER', 'SDK_MISSING', 'SDK_MISMATCH', 'UNKNOWN_PROVIDER', 'GUARD_OPTIONS', 'API_ORIGIN', 'SCHEMA_MISSING', 'SCHEMA_NEWER']) t.ok(named.has(`FST_MCP_CONNECT_${name}`), name)
})

t.test('the files that it points to are there', async t => {
  for (const [, path = ''] of readme.matchAll(/\]\((?!https?:)([^)#]+)\)/g)) t.ok(existsSync(new URL(`../${path}`, import.meta.url)), path)
})
