import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import type { McpServerLike } from '../../lib/decorator.js'
import { createSdkV1Guard } from '../../lib/guard/sdk-v1.js'
import { loadSdkCopies } from '../../lib/guard/sdk-v1-copies.mjs'
import type { GuardedCall } from '../../lib/guard/guard.js'
import { defineProvider } from '../../lib/index.js'

const SERVER = '@modelcontextprotocol/sdk/server/index.js'
const TYPES = '@modelcontextprotocol/sdk/types.js'
const provider = defineProvider({ name: 'Acme', issuer: 'https://acme.example', clientId: 'id', apiOrigins: ['https://api.acme.example'] })

t.test('the SDK that the host can have: the ESM copy, and the CommonJS one once it is loaded, if it knows URL mode', async t => {
  const require = createRequire(import.meta.url)
  const copies = await loadSdkCopies()
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
  const elsewhere = await mkdtemp(join(tmpdir(), 'without-sdk-'))
  t.teardown(() => rm(elsewhere, { recursive: true }))
  const file = join(elsewhere, 'sdk-v1-copies.mts')
  await copyFile(fileURLToPath(new URL('../../lib/guard/sdk-v1-copies.mts', import.meta.url)), file)
  const { loadSdkCopies: loadNone } = await import(pathToFileURL(file).href) as { loadSdkCopies: typeof loadSdkCopies }
  const copies = (await loadNone())()
  t.strictSame(copies, [])
  const server = { server: { getClientCapabilities () {} } } as unknown as McpServerLike
  const services = { server, providers: new Map(), decide: async () => { throw new Error('not reached') } }
  t.throws(() => createSdkV1Guard({ ...services, copies }), { code: 'FST_MCP_CONNECT_SDK_MISSING' })
  const installed = (await loadSdkCopies())()
  t.throws(() => createSdkV1Guard({ ...services, copies: installed }), { code: 'FST_MCP_CONNECT_SDK_MISMATCH' })
})

t.test('neither a server nor a session is kept alive while it waits', async t => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  class Server {
    transport: object | undefined = {}
    getClientCapabilities (): object { return { elicitation: { url: {} } } }
    getClientVersion (): undefined {}
    createElicitationCompletionNotifier (): () => Promise<void> { return async () => {} }
  }

  /** Lets a session wait. @returns what tells it, and what it is */
  const wait = async (server: Server): Promise<{ notify: unknown, transport: WeakRef<object> }> => {
    let notify: unknown
    const { requireConnection } = createSdkV1Guard({
      server: { server } as unknown as McpServerLike,
      copies: [{ Server, UrlElicitationRequiredError: Error as never }],
      providers: new Map([['acme', provider]]),
      decide: async (_requirements: unknown, call: GuardedCall) => {
        notify = call.createNotify('id')
        return { kind: 'run', connections: {} }
      }
    })
    await requireConnection('acme', async () => {})()
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
