import { UrlElicitationRequiredError } from '@modelcontextprotocol/sdk/types.js'
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { inspect } from 'node:util'
import t, { type Test } from 'tap'
import { openInBrowser } from '../lib/client/open-in-browser.js'
import { resolveClientOptions } from '../lib/client/options.js'
import { resolveEndpointOptions } from '../lib/endpoint/options.js'
import * as errors from '../lib/errors.js'
import { resolveOptions } from '../lib/options.js'
import { defineProvider, memoryStore, oidcLogin } from '../lib/index.js'
import { openMcpSession } from './fixtures/mcp-session.js'
import { PRESET_NAMES, PRESETS, type PresetName } from './fixtures/presets.js'

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')
const readme = read('README.md')

t.test('code that names a file is that file, and the first example is short', async t => {
  const blocks = [...readme.matchAll(/<!-- (\S+) -->\n```ts\n(.*?)```/gs)].map(([, path = '', code = '']) => ({ path, code }))
  t.equal(blocks.length, 9)
  for (const { path, code } of blocks) t.equal(code, read(path), path)
  t.ok(blocks[0]!.code.trimEnd().split('\n').length <= 25)
})

t.test('the first example does what it says', async t => {
  Object.assign(process.env, { CONNECT_KEY: randomBytes(32).toString('base64'), GITHUB_CLIENT_ID: 'id', GITHUB_CLIENT_SECRET: 'secret', LOGIN_CLIENT_ID: 'web', LOGIN_CLIENT_SECRET: 'secret' })
  const { app, createServer } = await import('../examples/quick-start/app.js')
  t.teardown(() => app.close())
  const { statusCode, headers } = await app.inject({ method: 'POST', url: '/mcp', headers: { host: 'mcp.example.com' } })
  t.equal(statusCode, 401)
  const [, address = ''] = /resource_metadata="([^"]+)"/.exec(String(headers['www-authenticate'])) ?? []
  t.match((await app.inject({ url: address })).json(), { resource: 'https://mcp.example.com/mcp', authorization_servers: ['https://login.example.com'] })

  const { client } = await openMcpSession(createServer(), { user: { issuer: 'https://login.example.com', subject: 'a' } })
  const error = await client.callTool({ name: 'list-issues' }).catch(error => error)
  t.ok(error instanceof UrlElicitationRequiredError)
  t.match(error.elicitations, [{ message: 'Connect GitHub to list your issues.', url: /^https:\/\/mcp\.example\.com\/connect\/[\w-]{43}$/ }])
  await client.close()
})

/** The names in the first column of the table with this heading, each with what stands beside it. */
function table (heading: string): Map<string, string> {
  const [, rows = ''] = new RegExp(`^\\| ${heading} \\|.*\\n\\|[-|]+\\n((?:\\|.*\\n)+)`, 'm').exec(readme) ?? []
  return new Map([...rows.matchAll(/^\| ((?:`[^`]+`(?:, )?)+) \| (.*?) \|/gm)]
    .flatMap(([, names = '', shown = '']) => names.split(', ').map(name => [name.replaceAll('`', ''), shown] as const)))
}

function checkTable (t: Test, shown: Map<string, string>, resolved: object, required: object): void {
  for (const [name, value] of Object.entries(resolved)) {
    t.type(shown.get(name), 'string', name)
    if (name in required) t.equal(shown.get(name), 'required', name)
    else if (['string', 'number'].includes(typeof value) && name !== 'name') t.equal(shown.get(name), `\`${typeof value === 'string' ? `'${value}'` : String(value)}\``, name)
  }
  for (const name of shown.keys()) t.ok(name in resolved || name in OPTIONAL, `${name} is an option`)
}

/** Members of a provider's definition that are not there when they are left out. */
const NEVER_BY_DEFAULT = { accessTokenTtlMs: true, tokenResponsePath: true, identity: true, revocationRequest: true }
/** They have no default that shows when they are left out. */
const OPTIONAL = { ...NEVER_BY_DEFAULT, clientSecret: true, privateKey: true, resource: true, onAudit: true, clientSupportsUrl: true, '[allowLoopbackHttp]': true }

t.test('every option stands in a table, with its default, and nothing else', t => {
  const required = { baseUrl: 'https://mcp.example.com', store: memoryStore(), keys: [randomBytes(32).toString('base64')], browser: { identify: () => null }, providers: {} }
  const resolved = resolveOptions(required)
  checkTable(t, table('option'), resolved, required)
  const limits = table('of `limits`')
  t.strictSame([...limits.keys()], Object.keys(resolved.limits))
  for (const [name, limit] of Object.entries(resolved.limits)) t.equal(limits.get(name), `\`${inspect(limit)}\``)
  const endpoint = { createServer: () => { throw new Error('not called') }, auth: { issuer: 'https://login.example.com', resource: 'https://mcp.example.com/mcp' } }
  checkTable(t, table('of `mcpEndpoint`'), resolveEndpointOptions(endpoint), endpoint)
  const registration = { issuer: 'https://login.example.com', clientId: 'id' }
  const { kind, ...login } = oidcLogin(registration)
  checkTable(t, table('of `oidcLogin`'), login, registration)
  t.equal(table('of `oidcLogin`').get('scopes')!.replaceAll(/[`[\]]/g, ''), inspect(login.scopes).replaceAll(/[[\]] ?| (?=\])/g, '').trim())
  t.end()
})

t.test('every option of a client stands in its table, with its default', t => {
  const consent = async (): Promise<'cancel'> => 'cancel'
  const { loopback, open, ...resolved } = resolveClientOptions({ consent })
  checkTable(t, table('of `handleUrlElicitation`'), { ...resolved, open: undefined, done: undefined }, { consent })
  t.equal(table('of `handleUrlElicitation`').get('open'), '`openInBrowser`')
  t.equal(open, openInBrowser)
  t.equal(table('of `handleUrlElicitation`').get('[allowLoopbackHttp]'), `\`${loopback}\``)
  for (const reason of Object.keys(errors.URL_ELICITATION_ENDINGS)) t.ok(table('`reason`').has(reason), reason)
  t.equal(table('`reason`').size, Object.keys(errors.URL_ELICITATION_ENDINGS).length)
  t.end()
})

t.test('every member of a provider\'s definition is shown, with its default', t => {
  const definition = { name: 'Acme', issuer: 'https://acme.example', clientId: 'id', apiOrigins: ['https://api.acme.example'] }
  const [, shown = ''] = /<!-- examples\/custom-provider\.ts -->\n```ts\n(.*?)```/s.exec(readme) ?? []
  const further = table('further')
  for (const [name, value] of Object.entries({ ...defineProvider(definition), clientSecret: 'x', privateKey: 'x', endpoints: 'x', resource: 'x', ...NEVER_BY_DEFAULT, '[allowLoopbackHttp]': false })) {
    t.ok(new RegExp(`^  ${name}: `, 'm').test(shown) || further.has(name), name)
    if (further.has(name) && !(name in OPTIONAL) && name !== 'endpoints') t.equal(further.get(name), `\`${inspect(value)}\``, name)
  }
  t.end()
})

t.test('every preset stands in the table, with how it authenticates', t => {
  const rows = [...readme.matchAll(/^\| `(\w+)` \| [^|]+ \| (Basic|post) \| /gm)]
  t.strictSame(rows.map(([, name]) => name), PRESET_NAMES)
  for (const [, name = '', authentication = ''] of rows) t.equal(PRESETS[name as PresetName].clientAuthentication, `client_secret_${authentication.toLowerCase()}`, name)
  t.end()
})

t.test('every error code is named, with its status, and no other', t => {
  const codes = new Map(Object.values(errors).filter(value => typeof value === 'function' && value !== errors.shortCode && value !== errors.NotRunError)
    .map(Class => new (Class as new (...args: unknown[]) => Error & { code: string, statusCode: number })('', ''))
    .map(({ code, statusCode }) => [errors.shortCode(code), statusCode] as const))
  const inBrowser = new Map([...readme.matchAll(/^\| ([45]\d\d(?:, [45]\d\d)?) \| (`.*?`) \|/gm)]
    .flatMap(([, statuses = '', names = '']) => names.split(', ').map(name => [name.replaceAll('`', ''), statuses.split(', ').map(Number)] as const)))
  const thrown = table('thrown to a program')
  for (const [code, status] of codes) {
    t.ok(inBrowser.has(code) || thrown.has(code) || code === 'SEAL_BROKEN', `${code} is named`)
    if (inBrowser.has(code)) t.ok(inBrowser.get(code)!.includes(status), `${code} has status ${status}`)
  }
  for (const code of [...inBrowser.keys(), ...thrown.keys()]) t.ok(codes.has(code), `${code} exists`)
  t.match(readme, 'with the code `SEAL_BROKEN`', 'and no request ends with it')
  for (const [, code = ''] of readme.matchAll(/FST_MCP_CONNECT_([A-Z_]+)/g)) t.ok(codes.has(code), code)
  t.end()
})

t.test('the files that it points to are there', async t => {
  for (const [, path = ''] of readme.matchAll(/\]\((?!https?:)([^)#]+)\)/g)) t.ok(existsSync(new URL(`../${path}`, import.meta.url)), path)
})
