import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import t from 'tap'
import { keyValueVault } from '../../examples/custom-vault.js'
import { memoryStore } from '../../lib/index.js'
import { vaultContract } from '../../lib/testing/index.js'
import { startKeyValueServer } from '../fixtures/key-value-v2.js'
import { openMcpSession } from '../fixtures/mcp-session.js'
import { A, startServer } from '../fixtures/server.js'

t.setTimeout(400_000)

const place = (): [owner: string, name: string] => [randomBytes(32).toString('hex'), randomBytes(32).toString('hex')]

t.test('it keeps the contract', async t => {
  const server = await startKeyValueServer(t)
  for (const { name, run } of vaultContract) await t.test(name, async () => await run(() => keyValueVault({ ...server, timeoutMs: 60_000 })))
  t.equal([...server.secrets.values()].some(({ kept }) => kept.size > 1), false, 'no older version is kept')
  t.notMatch(server.traffic.join('\n'), /^DELETE /m, 'tombstones only')
})

t.test('the file itself checks it against the contract', async t => {
  const server = await startKeyValueServer(t)
  const run = async (token: string): Promise<string> => {
    const file = new URL('../../examples/custom-vault.ts', import.meta.url).pathname
    const env = { PATH: process.env['PATH'], VAULT_ADDR: `${server.address}/`, VAULT_TOKEN: token }
    const args = ['--import', 'tsx', '--test-reporter=tap', '--test-name-pattern=list', file] // some cases, since all have run above
    const { stdout } = await promisify(execFile)(process.execPath, args, { env, maxBuffer: 1e8 }).catch(error => error as { stdout: string })
    return stdout
  }
  const cases = vaultContract.filter(({ name }) => name.includes('list')).length
  const good = await run(server.token)
  t.match(good, new RegExp(`^# pass ${cases}$`, 'm'))
  t.match(good, /^# fail 0$/m)
  t.match(await run('wrong'), new RegExp(`^# fail ${cases}$`, 'm'))
})

t.test('a version that was deleted by hand is none, and is written over', async t => {
  const server = await startKeyValueServer(t)
  const vault = keyValueVault(server)
  const [owner, name] = place()
  const first = await vault.put(owner, name, 'first', null)
  server.deleteCurrent(`${owner}/${name}`)
  t.equal(await vault.get(owner, name), null)
  t.strictSame(await vault.list({ limit: 10 }), { entries: [], cursor: null })
  const second = await vault.put(owner, name, 'second', null)
  t.type(second, 'string')
  t.not(second, first)
  t.strictSame(await vault.get(owner, name), { value: 'second', revision: second })
})

t.test('what is no revision matches nothing', async t => {
  const server = await startKeyValueServer(t)
  const vault = keyValueVault(server)
  const [owner, name] = place()
  for (const revision of ['', '0', 'null', 'x']) {
    t.equal(await vault.put(owner, name, 'value', revision), null, revision)
    t.equal(await vault.delete(owner, name, revision), false, revision)
  }
  t.equal(server.secrets.size, 0)
  const revision = await vault.put(owner, name, 'value', null)
  for (const other of [` ${revision}`, `${revision} `, `0${revision}`, `${revision}.0`, `${revision}e0`, '9'.repeat(400)]) {
    t.equal(await vault.put(owner, name, 'other', other), null, other)
    t.equal(await vault.delete(owner, name, other), false, other)
  }
  t.strictSame(await vault.get(owner, name), { value: 'value', revision })
})

t.test('whatever else Vault answers is an error, which tells the status and no secret', async t => {
  const server = await startKeyValueServer(t)
  const [owner, name] = place()
  const revision = await keyValueVault(server).put(owner, name, 'sealed', null)
  const refuses = async (change: Partial<Parameters<typeof keyValueVault>[0]>, message: RegExp, comment: string): Promise<void> => {
    const vault = keyValueVault({ address: server.address, token: server.token, mount: server.mount, timeoutMs: 30_000, ...change })
    for (const [method, call] of Object.entries({
      get: () => vault.get(owner, name),
      create: () => vault.put(owner, name, 'canary-value', null),
      replace: () => vault.put(owner, name, 'canary-value', revision),
      delete: () => vault.delete(owner, name, revision!),
      list: () => vault.list({ limit: 10 })
    })) {
      const error = await Promise.resolve(call()).then(() => undefined, error => error as Error)
      t.match(error?.message, message, `${comment}: ${method}`)
      t.notMatch(`${error?.stack} ${JSON.stringify(error)} ${JSON.stringify(error?.cause)}`, /canary|secret body|hvs|sealed/, `${comment}: ${method}`)
    }
  }
  const answer = (status: number, body: string): void => { server.fault = response => { response.writeHead(status).end(body) } }

  await refuses({ token: 'hvs.canary-of-another' }, /Vault answered 403 to a (read|write) at connect\//, 'a wrong token')
  await refuses({ token: 'hvs.canary\nsplit' }, /Vault does not answer: TypeError/, 'a token that is none')
  await refuses({ mount: 'elsewhere' }, /Vault answered 404 /, 'a wrong mount')
  for (const [status, body, comment] of [
    [503, '{"errors":["Vault is sealed, secret body"]}', 'sealed'],
    [500, '{"errors":["secret body"]}', 'broken'],
    [400, '{"errors":["secret body"]}', 'another 400'],
    [404, '<h1>secret body</h1>', 'another\'s 404'],
    [204, '', 'version 1 of the engine'],
    [200, '<h1>secret body</h1>', 'another\'s 200']
  ] as const) {
    answer(status, body)
    await refuses({}, new RegExp(`Vault answered ${status} `), comment)
  }
  answer(404, '{"errors":[]}')
  const vault = keyValueVault(server)
  await t.rejects(vault.put(owner, name, 'value', revision), /Vault answered 404 to a write/, 'a write is never to nothing')
  await t.rejects(vault.delete(owner, name, revision!), /Vault answered 404 to a write/)
  server.fault = () => {}
  await refuses({ timeoutMs: 100 }, /Vault does not answer: TimeoutError/, 'no answer in time')
  server.fault = response => { response.destroy() }
  await refuses({}, /Vault does not answer: \w+/, 'a cut connection')
  server.fault = undefined
  t.strictSame(await keyValueVault(server).get(owner, name), { value: 'sealed', revision }, 'nothing was done')
})

t.test('a whole life with the plugin, and no token in Vault or on the way to it', async t => {
  const keyValue = await startKeyValueServer(t)
  const vault = keyValueVault(keyValue)
  const server = await startServer(t, { vault, store: { ...memoryStore(), vault } })
  const browser = server.browser(A)
  const mcp = new McpServer({ name: 'test', version: '1.0.0' })
  const tokens: string[] = []
  mcp.registerTool('use', {}, server.app.mcpConnect.for(mcp).requireConnection('acme', async acme => {
    tokens.push(await acme.accessToken())
    return { content: [{ type: 'text', text: 'used' }] }
  }))
  const { client } = await openMcpSession(mcp, { user: A })
  t.teardown(() => client.close())

  for (let i = 0; i < 2; i++) {
    const { location } = (await browser.press('/connect', '/acme/connect')).headers
    t.equal((await browser.get((await server.untilCallback(browser, String(location))).href)).statusCode, 303)
    t.match(await client.callTool({ name: 'use' }), { content: [{ text: 'used' }] })
  }
  t.match(await vault.list({ limit: 10 }), { entries: { length: 1 }, cursor: null })
  const stored = [...keyValue.secrets.values()].flatMap(({ kept }) => [...kept.values()])
  t.equal(stored.length, 1, 'the older grant is gone')
  const { value } = JSON.parse(stored[0]!) as { value: string }
  const seen = keyValue.traffic.join('\n')
  t.ok(seen.includes(value), 'the sealed grant')
  t.equal(new Set(tokens).size, 2)
  for (const token of tokens) {
    for (const encoding of ['utf8', 'base64', 'base64url', 'hex'] as const) {
      const shown = Buffer.from(token).toString(encoding).replace(/.?=*$/, '')
      t.notOk(seen.includes(shown), encoding)
      t.notOk(stored.join().includes(shown), encoding)
    }
  }

  await browser.press('/connect', '/acme/disconnect')
  t.equal(await server.vaultRows(), '[]')
  t.strictSame([...keyValue.secrets.values()].flatMap(({ kept }) => [...kept.values()]), ['{"value":null}'], 'a tombstone, and no grant')
  await t.rejects(client.callTool({ name: 'use' }), { code: -32042 })
})

t.test('a token that is refused keeps the server from starting; later, the user sees a page and the operator a code', async t => {
  const keyValue = await startKeyValueServer(t)
  const mount = { address: keyValue.address, token: keyValue.token, mount: keyValue.mount }
  const server = await startServer(t, { vault: keyValueVault(mount) })
  mount.token = 'hvs.canary-of-another'
  const error = await startServer(t, { at: server.acme, vault: keyValueVault(mount) }).catch(error => error)
  t.match(error, { code: 'FST_MCP_CONNECT_ADAPTER_FAILED', cause: { message: /Vault answered 403/ } })
  t.equal((await server.browser(A).get('/connect')).statusCode, 503)
  mount.token = keyValue.token
  t.equal((await server.browser(A).get('/connect')).statusCode, 200, 'the token is read anew for each request')
  const log = server.log.join('')
  t.match(log, 'FST_MCP_CONNECT_ADAPTER_FAILED')
  t.match(log, 'Vault answered 403')
  t.notMatch(log, 'canary')
})
