import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { randomBytes } from 'node:crypto'
import type { Test } from 'tap'
import { startAuthorizationServer } from '../../examples/demo/authorization-server.js'
import { allowLoopbackHttp, oidcLogin } from '../../lib/index.js'
import type { TokenVault } from '../../lib/storage.js'
import type { Limits, McpConnectOptions } from '../../lib/types.js'
import { LOGIN_CALLBACK } from '../fixtures/login.js'
import { startServer } from '../fixtures/server.js'
import { createPerson, type Account, type Person } from './person.js'
import { SecretIndex } from './secret-index.js'
import { createWatchedStore, type Write } from './watched-store.js'

export interface WorldOptions {
  readonly login: 'own' | 'oidcLogin'
  readonly limits?: Limits
  /** Something wrong that the fuzzer must find; with a login of the host's own. */
  readonly spoil?: (request: FastifyRequest, reply: FastifyReply) => unknown
}

/** A server with its people, of whom the fuzzer can be all but the last. */
export interface World {
  readonly app: FastifyInstance
  readonly people: readonly Person[]
  /** What must not come out, as of this round. */
  readonly secrets: SecretIndex
  /** Of the authorization server, to which people may be sent. */
  readonly issuer: string
  /** The lines that were logged since it was asked last. */
  takeLog (): string
  takeWrites (): Write[]
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

export async function startWorld (options: WorldOptions): Promise<World> {
  const closers: Array<() => Promise<unknown>> = []
  const close = async (): Promise<void> => { for (const closer of closers.reverse()) await closer() }
  // That is all that the fixtures want of a test.
  const t = { teardown: (closer: () => Promise<unknown>) => { closers.push(closer) } } as unknown as Test
  try {
    return Object.assign(await setUp(t, options), { close })
  } catch (error) {
    await close()
    throw error
  }
}

async function setUp (t: Test, { login, limits = OFF, spoil = () => {} }: WorldOptions): Promise<Omit<World, 'close'>> {
  const [key, clientSecret] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64url')]
  const lasting = new SecretIndex()
  let secrets = lasting
  const watched = createWatchedStore(key, (kind, text) => secrets.add(kind, text))
  const accounts = NAMES.map(name => {
    const [login, subject, hostSession] = ['login', 'subject', 'session'].map(what => `${name}-${what}-${randomBytes(16).toString('hex')}`) as [string, string, string]
    return { name, login, subject, hostSession }
  })
  const { issuer, browser } = login === 'own' ? ownLogin(accounts, spoil) : await registeredLogin(t, accounts, clientSecret)
  const server = await startServer(t, {
    keys: [key],
    browser,
    principal: claims => ({ issuer: claims['iss'], subject: claims['sub'] }),
    limits,
    declineCoolDownMs: 0,
    store: watched.store,
    unwatched: true
  })
  await server.app.listen({ host: '127.0.0.1', port: 0 })
  lasting.add('key', key)
  lasting.add('client secret', clientSecret)
  lasting.add('client secret', server.acme.clientSecret)
  for (const { name, login, subject } of accounts) for (const text of [login, subject]) lasting.add('name', text, name)

  const people = accounts.map(account => createPerson(server, { ...account, issuer, hostSession: login === 'own' ? account.hostSession : null }, account.name === 'victim'))
  const victim = people.at(-1)!
  let before = ''

  async function renew (person: Person): Promise<void> {
    watched.counts = false
    await person.renew()
    for (const [kind, text] of person.secrets()) secrets.add(kind, text, person.name)
    for (const [name, value] of person.cookies) if (name.includes('-login-')) await watched.readSignIn(value)
    watched.counts = true
    watched.takeWrites()
    server.log.length = 0
  }

  return {
    app: server.app,
    people,
    get secrets () { return secrets },
    issuer,
    takeLog: () => server.log.splice(0).join(''),
    takeWrites: watched.takeWrites,
    renew,
    async begin () {
      secrets = new SecretIndex(lasting)
      for (const person of people) await renew(person)
      before = await rowsOf(server.store.vault, victim)
    },
    async end () {
      watched.counts = false
      if (await rowsOf(server.store.vault, victim) !== before) throw new Error('the vault of somebody whom the fuzzer never was has changed')
      await victim.finish()
    }
  }
}

type Login = Pick<McpConnectOptions, 'browser'> & { readonly issuer: string }
type LoginAccount = Pick<Account, 'name' | 'login' | 'subject'> & { readonly hostSession: string }

/** A login of the host's own, whose sessions are cookies. */
function ownLogin (accounts: readonly LoginAccount[], spoil: Required<WorldOptions>['spoil']): Login {
  const issuer = 'https://login.example.com'
  return {
    issuer,
    browser: {
      async identify (request, reply) {
        await spoil(request, reply)
        const [, session] = /(?:^|; *)host-session=([^;]*)/.exec(request.headers.cookie ?? '') ?? []
        const account = accounts.find(({ hostSession }) => hostSession === session)
        return account === undefined ? null : { issuer, subject: account.subject, label: account.login }
      },
      signInUrl: returnTo => `/login?returnTo=${encodeURIComponent(returnTo)}`
    }
  }
}

async function registeredLogin (t: Test, people: readonly LoginAccount[], clientSecret: string): Promise<Login> {
  const { issuer, close } = await startAuthorizationServer({
    site: { name: 'Example Corp', color: '#000' },
    people,
    scopes: {},
    clients: [{ client_id: 'web', client_secret: clientSecret, redirect_uris: [LOGIN_CALLBACK], token_endpoint_auth_method: 'client_secret_basic' }]
  })
  t.teardown(close)
  return { issuer, browser: oidcLogin({ issuer, clientId: 'web', clientSecret, [allowLoopbackHttp]: true }) }
}

async function rowsOf (vault: TokenVault, { owner }: Person): Promise<string> {
  const { entries } = await vault.list({ owner, limit: 100 })
  return JSON.stringify(await Promise.all(entries.map(({ owner, name }) => vault.get(owner, name))))
}
