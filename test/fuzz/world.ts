import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { randomBytes } from 'node:crypto'
import { startAuthorizationServer, type Observed } from '../../examples/demo/authorization-server.js'
import { allowLoopbackHttp, oidcLogin } from '../../lib/index.js'
import type { TokenVault } from '../../lib/storage.js'
import type { Limits, McpConnectOptions } from '../../lib/types.js'
import { LOGIN_CALLBACK, startApp } from './app.js'
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
const TOKENS = ['access_token', 'refresh_token', 'id_token']

export async function startWorld ({ login, limits = OFF, spoil = () => {} }: WorldOptions): Promise<World> {
  const [key, webSecret] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64url')]
  const random = (name: string, what: string): string => `${name}-${what}-${randomBytes(16).toString('hex')}`
  const accounts = NAMES.map(name => ({ name, login: random(name, 'login'), subject: random(name, 'subject'), hostSession: random(name, 'session') }))
  const lasting = new SecretIndex()
  let secrets = lasting
  const watched = createWatchedStore(key, (kind, text) => secrets.add(kind, text))
  const observe = ({ path, body }: Observed): void => {
    if (path !== '/token') return
    for (const [name, value] of Object.entries(Object(body) as object)) if (TOKENS.includes(name)) secrets.add(name, String(value))
  }

  const { issuer, browser, close: closeLogin } = login === 'own' ? ownLogin(accounts, spoil) : await registeredLogin(accounts, webSecret, observe)
  const app = await startApp({ keys: [key], browser, limits, store: watched.store }, observe)
  lasting.add('key', key)
  for (const secret of [webSecret, app.clientSecret]) lasting.add('client secret', secret)
  for (const { name, login, subject } of accounts) for (const text of [login, subject]) lasting.add('name', text, name)
  const people = await Promise.all(accounts.map(async ({ hostSession, ...account }) =>
    await createPerson(app, { ...account, issuer, hostSession: login === 'own' ? hostSession : null, isVictim: account.name === 'victim' })))
  const victim = people.at(-1)!
  let before = ''

  async function renew (person: Person): Promise<void> {
    watched.counts = false
    await person.renew()
    for (const [kind, text] of person.secrets()) secrets.add(kind, text, person.name)
    for (const [name, value] of person.cookies) if (name.includes('-login-')) await watched.readSignIn(value)
    watched.counts = true
    watched.takeWrites()
    app.log.length = 0
  }

  return {
    app: app.fastify,
    people,
    get secrets () { return secrets },
    issuer,
    takeLog: () => app.log.splice(0).join(''),
    takeWrites: watched.takeWrites,
    renew,
    async begin () {
      secrets = new SecretIndex(lasting)
      for (const person of people) await renew(person)
      before = await rowsOf(watched.store.vault, victim)
    },
    async end () {
      watched.counts = false
      if (await rowsOf(watched.store.vault, victim) !== before) throw new Error('the vault of somebody whom the fuzzer never was has changed')
      await victim.finish()
    },
    async close () {
      for (const person of people) await person.close()
      await app.close()
      await closeLogin()
    }
  }
}

interface Login extends Pick<McpConnectOptions, 'browser'> {
  readonly issuer: string
  close (): Promise<void>
}

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
    },
    close: async () => {}
  }
}

async function registeredLogin (people: readonly LoginAccount[], clientSecret: string, observe: (seen: Observed) => void): Promise<Login> {
  const { issuer, close } = await startAuthorizationServer({
    site: { name: 'Example Corp', color: '#000' },
    people,
    scopes: {},
    clients: [{ client_id: 'web', client_secret: clientSecret, redirect_uris: [LOGIN_CALLBACK], token_endpoint_auth_method: 'client_secret_basic' }],
    observe
  })
  return { issuer, close, browser: oidcLogin({ issuer, clientId: 'web', clientSecret, [allowLoopbackHttp]: true }) }
}

async function rowsOf (vault: TokenVault, { owner }: Person): Promise<string> {
  const { entries } = await vault.list({ owner, limit: 100 })
  return JSON.stringify(await Promise.all(entries.map(({ owner, name }) => vault.get(owner, name))))
}
