import { createRequire } from 'node:module'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import type { McpServerLike } from '../../lib/decorator.js'
import { createGuard } from '../../lib/guard/create-guard.js'
import { clientOf } from '../../lib/guard/links.js'
import { loadSdkV1Copies } from '../../lib/guard/sdk-v1-copies.js'
import type { GuardedCall } from '../../lib/guard/guarded-call.js'
import { defineProvider } from '../../lib/index.js'
import { loadWithoutPackages } from '../fixtures/without-packages.js'

const SERVER = '@modelcontextprotocol/sdk/server/index.js'
const TYPES = '@modelcontextprotocol/sdk/types.js'
const provider = defineProvider({ name: 'Acme', issuer: 'https://acme.example', clientId: 'id', apiOrigins: ['https://api.acme.example'] })

t.test('the SDK that the host can have: the ESM copy, and the CommonJS one once it is loaded, if it knows URL mode', async t => {
  const require = createRequire(import.meta.url)
  const copies = await loadSdkV1Copies()
  t.equal(copies().length, 1)
  const { Server } = require(SERVER) as { Server: unknown }
  t.equal(copies().length, 2)
  t.equal(copies()[1]?.Server, Server)
  t.not(copies()[0]?.Server, Server)
  const types = require.resolve(TYPES)
  t.intercept(require.cache, types, { value: { exports: {} } })
  t.equal(copies().length, 1, 'one that is older than URL mode is none')
})

t.test('an application without the SDK starts, and hears of it when it makes a guard', async t => {
  const { loadSdkV1Copies: loadNone } = await loadWithoutPackages<{ loadSdkV1Copies: typeof loadSdkV1Copies }>(t, 'guard/sdk-v1-copies.ts', 'mcp-sdks.ts', 'package-copies.mts')
  const copies = (await loadNone())()
  t.strictSame(copies, [])
  const server = { server: { getClientCapabilities () {} } } as unknown as McpServerLike
  const services = { server, loadSdkV2: () => null, providers: new Map(), decide: async () => { throw new Error('not reached') } }
  t.throws(() => createGuard({ ...services, copies }), { code: 'FST_MCP_CONNECT_SDK_MISSING', message: /sdk 1\.23 .*server 2\.4 / })
  const installed = (await loadSdkV1Copies())()
  t.throws(() => createGuard({ ...services, copies: installed }), { code: 'FST_MCP_CONNECT_SDK_MISMATCH' })
})

/** What the SDK lets through of a client. */
class Server {
  transport: object | undefined = {}
  constructor (readonly capabilities: unknown = { elicitation: { url: {} } }, readonly version?: { name?: unknown }) {}
  getClientCapabilities (): unknown { return this.capabilities }
  getClientVersion (): { name?: unknown } | undefined { return this.version }
  createElicitationCompletionNotifier (): () => Promise<void> { return async () => {} }
}

/** Calls a guarded handler. @param tell is told of the call */
async function call (server: Server, tell: (call: GuardedCall) => void, context?: object): Promise<void> {
  const { requireConnection } = createGuard({
    server: { server } as unknown as McpServerLike,
    copies: [{ Server, UrlElicitationRequiredError: Error as never }],
    loadSdkV2: () => null,
    providers: new Map([['acme', provider]]),
    decide: async (_requirements: unknown, call: GuardedCall) => {
      tell(call)
      return { kind: 'run', connections: {} }
    }
  })
  await requireConnection('acme', async () => {})(context)
}

t.test('CAP-01 what a client and a request say is taken for what it is, or for nothing', async t => {
  const describe = async (...[server, context]: [server: Server, context?: object]): Promise<GuardedCall> => {
    let told: GuardedCall | undefined
    await call(server, call => { told = call }, context)
    return told!
  }
  for (const capabilities of [undefined, null, 7, 'elicitation', []]) t.equal((await describe(new Server(capabilities === undefined ? null : capabilities))).urlMode, 'unknown', JSON.stringify(capabilities))
  for (const capabilities of [{}, { elicitation: null }, { elicitation: {} }, { elicitation: { url: true } }, { elicitation: { url: [] } }]) {
    t.equal((await describe(new Server(capabilities))).urlMode, 'undeclared', JSON.stringify(capabilities))
  }
  t.equal((await describe(new Server())).urlMode, 'declared')
  for (const extra of [undefined, null, 'claims', ['claims'], 7]) t.equal((await describe(new Server(), { authInfo: { extra } })).claims, undefined, JSON.stringify(extra))
  t.strictSame((await describe(new Server(), { authInfo: { extra: { sub: 'a' } } })).claims, { sub: 'a' })
  t.equal((await describe(new Server())).claims, undefined)
  for (const clientId of [undefined, null, 7, {}, ['c']]) t.strictSame(clientOf(await describe(new Server(), { authInfo: { clientId } })), { id: '' }, JSON.stringify(clientId))
  t.strictSame(clientOf(await describe(new Server(undefined, { name: `a\u202Eb${'c'.repeat(100)}` }), { authInfo: { clientId: 'id' } })), { id: 'id', name: `a b${'c'.repeat(56)}…` })
  t.strictSame(clientOf(await describe(new Server(undefined, { name: 7 }), { authInfo: { clientId: 'id' } })), { id: 'id' })
})

t.test('neither a server nor a session is kept alive while it waits', async t => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void

  /** Lets a session wait. @returns what tells it, and what it is */
  const wait = async (server: Server): Promise<{ notify: unknown, transport: WeakRef<object> }> => {
    let notify: unknown
    await call(server, call => { notify = call.mcpSession!.createNotify('id') })
    return { notify, transport: new WeakRef(server.transport!) }
  }
  const settled = async (): Promise<void> => await new Promise(resolve => setImmediate(resolve))

  const server = new Server()
  const session = await wait(server)
  server.transport = undefined
  await settled()
  collectGarbage()
  t.equal(session.transport.deref(), undefined, 'a session that has ended')

  const begin = async (): Promise<{ notify: unknown, server: WeakRef<Server> }> => {
    const other = new Server()
    return { ...await wait(other), server: new WeakRef(other) }
  }
  const gone = await begin()
  await settled()
  collectGarbage()
  t.equal(gone.server.deref(), undefined, 'a server that nobody uses any more')
  t.type(session.notify, 'function')
  t.type(gone.notify, 'function')
})
