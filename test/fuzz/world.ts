import type { FastifyInstance, FastifyRequest } from 'fastify'
import { randomBytes } from 'node:crypto'
import type { Test } from 'tap'
import { startAuthorizationServer } from '../../examples/demo/authorization-server.js'
import { allowLoopbackHttp, memoryStore, oidcLogin } from '../../lib/index.js'
import { hashPrincipal } from '../../lib/principal.js'
import type { Store } from '../../lib/storage.js'
import type { BrowserIdentity, Limits, McpConnectOptions } from '../../lib/types.js'
import { createKeyRing } from '../../lib/vault/key-ring.js'
import { createSealer } from '../../lib/vault/sealer.js'
import { LOGIN_CALLBACK } from '../fixtures/login.js'
import { startServer, type TestServer } from '../fixtures/server.js'
import { createPerson, type Person } from './person.js'
import { Secrets } from './secrets.js'

export interface WorldOptions {
  readonly login: 'own' | 'oidcLogin'
  readonly limits?: Limits
  /** Something wrong that the fuzzer must find; with a login of the host's own. */
  readonly spoil?: (request: FastifyRequest) => unknown
}

/** A server with its people, of whom the fuzzer can be all but the last. */
export interface World {
  readonly app: FastifyInstance
  readonly people: readonly Person[]
  /** What must not come out, as of this round. */
  readonly secrets: Secrets
  /** Where a browser may be sent, beside our own pages. */
  readonly issuer: string
  /** The lines that were logged since it was asked last. */
  takeLog (): string
  /** Whose rows of the vault were written or deleted since it was asked last. */
  takeWrites (): Array<{ readonly kind: 'put' | 'delete', readonly owner: Person | undefined }>
  /** Somebody gets a new link, forms, code and state. */
  renew (person: Person): Promise<void>
  /** Everybody does. */
  begin (): Promise<void>
  /** What must have stayed as it was, and go on to work. */
  end (): Promise<void>
  close (): Promise<void>
}

const NAMES = ['alice', 'bob', 'victim']
const OFF: Limits = { address: false, principal: false, elicitations: false }

export async function startWorld ({ login, limits = OFF, spoil = () => {} }: WorldOptions): Promise<World> {
  const closers: Array<() => Promise<unknown>> = []
  const close = async (): Promise<void> => { for (const closer of closers.reverse()) await closer() }
  try {
    return await setUp({ teardown: (closer: () => Promise<unknown>) => { closers.push(closer) } } as unknown as Test, close, { login, limits, spoil })
  } catch (error) {
    await close()
    throw error
  }
}

/** @param t all that the fixtures want of a test */
async function setUp (t: Test, close: () => Promise<void>, { login, limits, spoil }: Required<WorldOptions>): Promise<World> {
  const key = randomBytes(32).toString('base64')
  const clientSecret = randomBytes(32).toString('base64url')
  const accounts = NAMES.map(name => ({ login: `${name}-${randomBytes(8).toString('hex')}`, subject: `${name}-${randomBytes(8).toString('hex')}`, name }))
  const lasting = new Secrets()
  lasting.add('key', key)
  lasting.add('client secret', clientSecret)

  const state = { secrets: lasting, writes: [] as Array<{ kind: 'put' | 'delete', owner: string }>, counts: false }
  const sessions = new Map<string, number>()
  const { issuer, browser } = login === 'own' ? ownLogin() : await registeredLogin()

  function ownLogin (): { issuer: string, browser: BrowserIdentity } {
    const issuer = 'https://login.example.com'
    return {
      issuer,
      browser: {
        async identify (request) {
          await spoil(request)
          const [, token = ''] = /(?:^|; *)host-session=([^;]*)/.exec(request.headers.cookie ?? '') ?? []
          const account = accounts[sessions.get(token) ?? -1]
          return account === undefined ? null : { issuer, subject: account.subject, label: account.login }
        },
        signInUrl: returnTo => `/login?returnTo=${encodeURIComponent(returnTo)}`
      }
    }
  }

  async function registeredLogin (): Promise<{ issuer: string, browser: McpConnectOptions['browser'] }> {
    const authorizationServer = await startAuthorizationServer({
      site: { name: 'Example Corp', color: '#000' },
      people: accounts,
      scopes: {},
      clients: [{ client_id: 'web', client_secret: clientSecret, redirect_uris: [LOGIN_CALLBACK], token_endpoint_auth_method: 'client_secret_basic' }]
    })
    t.teardown(() => authorizationServer.close())
    const { issuer } = authorizationServer
    return { issuer, browser: oidcLogin({ issuer, clientId: 'web', clientSecret, [allowLoopbackHttp]: true }) }
  }

  const server = await startServer(t, {
    keys: [key],
    browser,
    principal: claims => ({ issuer: claims['iss'], subject: claims['sub'] }),
    limits,
    declineCoolDownMs: 0,
    store: watchedStore(key, state)
  })
  lasting.add('client secret', server.acme.clientSecret)
  await server.app.listen({ host: '127.0.0.1', port: 0 })

  const people = accounts.map((account, index) => {
    const cookie = randomBytes(24).toString('base64url')
    const isVictim = index === NAMES.length - 1
    sessions.set(cookie, index)
    lasting.add('name', account.subject, account.name)
    lasting.add('name', account.login, account.name)
    return createPerson(server, { ...account, issuer, isVictim, ...login === 'own' && { hostSession: cookie } })
  })
  const victim = people.at(-1)!
  let before = ''

  async function renew (person: Person): Promise<void> {
    state.counts = false
    await person.renew()
    for (const [kind, text] of person.secrets()) state.secrets.add(kind, text, person.name)
    state.counts = true
    server.log.length = 0
    state.writes.length = 0
  }

  return {
    app: server.app,
    people,
    get secrets () { return state.secrets },
    issuer,
    takeLog: () => server.log.splice(0).join(''),
    takeWrites: () => state.writes.splice(0).map(({ kind, owner }) => ({ kind, owner: people.find(person => hashPrincipal(person.principal) === owner) })),
    renew,
    async begin () {
      state.secrets = new Secrets(lasting)
      for (const person of people) await renew(person)
      before = await rowsOf(server, victim)
    },
    async end () {
      state.counts = false
      if (await rowsOf(server, victim) !== before) throw new Error('the vault of somebody whom the fuzzer never was has changed')
      await victim.finish()
    },
    close
  }
}

/** Tells of all that is written, and learns the secrets of flows. */
function watchedStore (key: string, watch: { secrets: Secrets, counts: boolean, readonly writes: Array<{ kind: 'put' | 'delete', owner: string }> }): Store {
  const store = memoryStore()
  const sealer = createSealer(createKeyRing([Buffer.from(key, 'base64')]))
  return {
    ...store,
    state: {
      ...store.state,
      put (rowKey, value, ...rest) {
        const [kind = '', hash = ''] = rowKey.split(':')
        if (kind === 'flow') watch.secrets.add('verifier', (JSON.parse(sealer.open(value, [kind, hash])) as { codeVerifier: string }).codeVerifier)
        return store.state.put(rowKey, value, ...rest)
      },
      // What is done between the rounds is not the fuzzer's.
      count: async (...parameters) => watch.counts ? await store.state.count(...parameters) : { count: 1, resetMs: 1 }
    },
    vault: {
      ...store.vault,
      put (owner, ...rest) {
        watch.writes.push({ kind: 'put', owner })
        return store.vault.put(owner, ...rest)
      },
      delete (owner, ...rest) {
        watch.writes.push({ kind: 'delete', owner })
        return store.vault.delete(owner, ...rest)
      }
    }
  }
}

async function rowsOf ({ store }: TestServer, { principal }: Person): Promise<string> {
  const { entries } = await store.vault.list({ owner: hashPrincipal(principal), limit: 100 })
  return JSON.stringify(await Promise.all(entries.map(({ owner, name }) => store.vault.get(owner, name))))
}
