import Fastify from 'fastify'
import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { allowLoopbackHttp, defineProvider, mcpConnect, memoryStore, oidcLogin, type McpConnectOptions } from '../lib/index.js'
import { createStorage, openStore } from './fixtures/stores.js'

const good = (): McpConnectOptions => ({
  baseUrl: 'https://mcp.example.com',
  store: memoryStore(),
  keys: [randomBytes(32).toString('base64')],
  browser: { identify: () => null },
  providers: { acme: defineProvider({ name: 'Acme', issuer: 'https://acme.example', clientId: 'id', apiOrigins: ['https://api.acme.example'] }) }
})

async function warnings (t: Test, change: Partial<McpConnectOptions>): Promise<string[]> {
  const lines: string[] = []
  const app = Fastify({ logger: { stream: { write: (line: string) => { lines.push(line) } } } })
  t.teardown(() => app.close())
  await app.register(mcpConnect, { ...good(), ...change })
  return lines.filter(line => line.includes('"level":40'))
}

t.test('memory in production is told, once, with what would be lost', async t => {
  const { NODE_ENV } = process.env
  t.teardown(() => { process.env['NODE_ENV'] = NODE_ENV ?? '' })
  const { vault } = await (await createStorage(t, 'sqlite')).open()
  t.strictSame(await warnings(t, {}), [], 'not in development')
  process.env['NODE_ENV'] = 'production'
  const [warning, ...more] = await warnings(t, {})
  t.match(warning, /memoryStore\(\) in production keeps vault, state, bus in this process alone.*Use sqliteStore, redisStore or postgresStore/)
  t.strictSame(more, [])
  t.match(await warnings(t, { vault }), [/keeps state, bus in/], 'of what is kept there')
  t.match(await warnings(t, { store: { ...memoryStore(), vault } }), [/keeps state, bus in/])
  t.strictSame(await warnings(t, { store: await (await createStorage(t, 'sqlite')).open() }), [])
})

t.test('an application without providers is told so', async t => {
  t.match(await warnings(t, { providers: {} }), [/there are no providers/])
})

t.test('http to this machine in production is told, with who lets it through', async t => {
  const { NODE_ENV } = process.env
  t.teardown(() => { process.env['NODE_ENV'] = NODE_ENV ?? '' })
  const store = await (await createStorage(t, 'sqlite')).open()
  const registration = { issuer: 'http://localhost:4000', clientId: 'id', [allowLoopbackHttp]: true }
  const open = { store, browser: oidcLogin(registration), providers: { acme: defineProvider({ ...registration, name: 'Acme', apiOrigins: ['https://api.acme.example'] }) } }
  t.strictSame(await warnings(t, open), [], 'not in development')
  process.env['NODE_ENV'] = 'production'
  t.match(await warnings(t, { ...open, store: await (await createStorage(t, 'sqlite')).open() }), [/\[allowLoopbackHttp\] is set in production, by browser, acme/])
})

t.test('a vault or a store that cannot be used is refused at start-up', async t => {
  const cause = new Error('password authentication failed')
  const get = async (): Promise<never> => { throw cause }
  const store = memoryStore()
  await t.rejects(warnings(t, { vault: { ...store.vault, get } }), { code: 'FST_MCP_CONNECT_ADAPTER_FAILED', message: /^vault\.get /, cause })
  const put = get
  await t.rejects(warnings(t, { store: { ...store, state: { ...store.state, put } } }), { code: 'FST_MCP_CONNECT_ADAPTER_FAILED', message: /^state\.put /, cause })
  await t.rejects(warnings(t, { vault: { ...store.vault, get: async () => ({}) as never } }), { code: 'FST_MCP_CONNECT_ADAPTER_INVALID' })
  for (const result of [undefined, 1, { count: 0, resetMs: 1 }, { count: 1.5, resetMs: 1 }, { count: 1, resetMs: -1 }, { count: '1', resetMs: 1 }, { count: 1 }]) {
    const state = { ...store.state, count: async () => result as never }
    await t.rejects(warnings(t, { store: { ...store, state } }), { code: 'FST_MCP_CONNECT_ADAPTER_INVALID', message: /^state\.count .*the numbers count, from 1, and resetMs/ }, String(result))
  }
})

t.test('tables that are missing are named, with the mend', async t => {
  const { store, close } = await openStore((await createStorage(t, 'sqlite')).spec, { migrate: false })
  await t.rejects(warnings(t, { store }), { code: 'FST_MCP_CONNECT_ADAPTER_FAILED', message: /tables are missing.*migrateSqlite\(db\)/ })
  await close()
})

t.test('a store or a bus that does not answer is told before Fastify gives up', async t => {
  const never = async (): Promise<never> => await new Promise(() => {})
  const store = memoryStore()
  await Promise.all([
    t.rejects(warnings(t, { vault: { ...store.vault, get: never } }), { code: 'FST_MCP_CONNECT_ADAPTER_FAILED', message: /^vault\.get .*does its server answer/ }),
    t.rejects(warnings(t, { store: { ...store, bus: { ...store.bus, subscribe: never } } }), { code: 'FST_MCP_CONNECT_ADAPTER_FAILED', message: /^bus\.subscribe / })
  ])
  const deaf = { ...store, bus: { ...store.bus, subscribe: async () => undefined as never } }
  await t.rejects(warnings(t, { store: deaf }), { code: 'FST_MCP_CONNECT_ADAPTER_INVALID', message: /^bus\.subscribe .*ends the subscription/ })
})

t.test('a store is closed with the application, also when it could not be used', async t => {
  for (const fault of [{}, { vault: { ...memoryStore().vault, get: async () => { throw new Error('down') } } }]) {
    let closed = 0
    const app = Fastify()
    const registered = app.register(mcpConnect, { ...good(), store: { ...memoryStore(), close: async () => { closed++ } }, ...fault })
    await Promise.resolve(registered).then(() => {}, () => {})
    t.equal(closed, 0)
    await app.close()
    t.equal(closed, 1)
  }
})

t.test('the redirect URIs to register are told', async t => {
  const lines: string[] = []
  const app = Fastify({ logger: { stream: { write: (line: string) => { lines.push(line) } } } })
  t.teardown(() => app.close())
  const registration = { clientId: 'id', apiOrigins: ['https://api.acme.example'] }
  await app.register(mcpConnect, {
    ...good(),
    prefix: '/links',
    browser: oidcLogin({ issuer: 'https://login.example.com', clientId: 'id' }),
    providers: { acme: defineProvider({ ...registration, name: 'Acme', issuer: 'https://acme.example' }) }
  })
  t.match(lines.join(''), '"redirectUris":["https://mcp.example.com/links/login/callback","https://mcp.example.com/links/callback/acme"]')
})
