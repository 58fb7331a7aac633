import { UrlElicitationRequiredError } from '@modelcontextprotocol/sdk/types.js'
import { HttpBrowser } from '../../examples/demo/http-browser.js'
import { visit } from '../../examples/demo/visitor.js'
import { hashPrincipal } from '../../lib/principal.js'
import { authorizationUrl, findForm, TestBrowser } from '../fixtures/browser.js'
import { BASE_URL, CALLBACKS, LOGIN_CALLBACK, type App } from './app.js'

export type Pair = readonly [name: string, value: string]

const SESSION = /session$/

/** Somebody with a browser, and all that a real visit of our pages has given them. */
export interface Person {
  readonly name: string
  /** Names them in the vault. */
  readonly owner: string
  /** Of the session with this server; of somebody whom the fuzzer never is, none. */
  readonly session: Pair | undefined
  /** The other cookies of this server. */
  readonly cookies: readonly Pair[]
  /** The id of a link that waits. */
  readonly link: string
  /** The tokens of forms, by what the button does. */
  readonly forms: Readonly<Record<string, string>>
  /** The query of an answer of the provider, which has not come yet. */
  readonly callback: readonly Pair[]
  /** The same of the authorization server, to a sign-in. */
  readonly signIn: readonly Pair[]
  /** Makes all of it anew. */
  renew (): Promise<void>
  /** What of it nobody else may learn, and no log. */
  secrets (): Array<readonly [kind: string, text: string]>
  /** Goes on to the good end. */
  finish (): Promise<void>
  close (): Promise<void>
}

export interface Account {
  readonly name: string
  readonly login: string
  readonly subject: string
  readonly issuer: string
  /** `null` where the login is the plugin's. */
  readonly hostSession: string | null
  /** Whether the fuzzer never is this one. */
  readonly isVictim: boolean
}

export async function createPerson (app: App, { name, login, subject, issuer, hostSession, isVictim }: Account): Promise<Person> {
  const principal = { issuer, subject }
  const browser = new TestBrowser(app.fastify, null)
  if (hostSession !== null) browser.cookies.set('host-session', hostSession)
  // It stays signed in at the authorization servers, which saves time.
  const hands = new HttpBrowser([LOGIN_CALLBACK, ...CALLBACKS])
  const { client, close } = await app.openSession(principal)
  let own = { link: '', forms: {} as Record<string, string>, callback: new URL(BASE_URL), signIn: new URL(BASE_URL) }

  const answer = async (url: string | URL, acmeLogin: string): Promise<URL> =>
    (await visit(hands, String(url), { login: '', password: '', acmeLogin })).url
  const answerOfAcme = async (page: string): Promise<URL> =>
    await answer(authorizationUrl(await browser.press(page, '/start')), 'alice@acme.example')

  async function beginSignIn (): Promise<URL> {
    if (hostSession !== null) return new URL(BASE_URL)
    return await answer(String((await browser.get('/connect/login')).headers.location), login)
  }

  async function open (callback: URL): Promise<string> {
    const { statusCode, headers: { location } } = await browser.get(callback.href)
    if (statusCode !== 303) throw new Error(`${name} cannot finish what was begun: ${statusCode}`)
    return String(location)
  }

  async function renewForms (): Promise<Record<string, string>> {
    if ((await browser.get('/connect')).statusCode === 303) await open(await beginSignIn())
    // There is a form to end a connection where there is one.
    const { body } = await browser.get('/connect')
    if (!body.includes('/other/disconnect')) {
      await open(await answerOfAcme(String((await browser.press('/connect', '/other/connect')).headers.location)))
    }
    // A call of the tool asks for one where there is none.
    if (body.includes('/acme/disconnect')) await browser.press('/connect', '/acme/disconnect')
    const page = await browser.get('/connect')
    const endings = { connect: '/acme/connect', disconnect: '/other/disconnect', ...hostSession === null && { signOut: '/login/sign-out' } }
    return Object.fromEntries(Object.entries(endings).map(([does, ending]) => [does, findForm(page, ending).fields['csrf']!]))
  }

  async function askForLink (): Promise<string> {
    const error = await client.callTool({ name: 'issues' }).then(() => undefined, error => error)
    if (!(error instanceof UrlElicitationRequiredError)) throw new Error(`${name} was not asked to connect`)
    return error.elicitations[0]!.url
  }

  return {
    name,
    owner: hashPrincipal(principal),
    get session () { return isVictim ? undefined : [...browser.cookies].find(([name]) => SESSION.test(name)) },
    get cookies () { return [...browser.cookies].filter(([name]) => !SESSION.test(name)) },
    get link () { return own.link },
    get forms () { return own.forms },
    get callback () { return [...own.callback.searchParams] },
    get signIn () { return [...own.signIn.searchParams] },

    async renew () {
      // The others would hide the one that counts.
      for (const name of browser.cookies.keys()) if (/-(flow|login)-/.test(name)) browser.cookies.delete(name)
      const forms = await renewForms()
      const url = await askForLink()
      const callback = await answerOfAcme(url)
      const page = await browser.get(url)
      for (const does of ['start', 'decline']) forms[does] = findForm(page, `/${does}`).fields['csrf']!
      own = { link: new URL(url).pathname.split('/').at(-1)!, forms, callback, signIn: await beginSignIn() }
    },

    secrets () {
      const answers = [own.callback, own.signIn].flatMap(({ searchParams }) => ['code', 'state'].map(kind => [kind, searchParams.get(kind) ?? ''] as const))
      const tokens = Object.values(own.forms).map(token => ['form', token.split('.').at(-1)!] as const)
      const cookies = [...browser.cookies.values()].map(value => ['cookie', value] as const)
      return [['link', own.link] as const, ...answers, ...tokens, ...cookies].filter(([, text]) => text !== '')
    },

    async finish () {
      if (await open(own.callback) !== `${BASE_URL}/connect/${own.link}/done`) throw new Error(`${name} was sent elsewhere`)
      const result = JSON.stringify(await client.callTool({ name: 'issues' }))
      if (!result.includes('rabbit hole')) throw new Error(`${name} is connected, and the tool does not run`)
    },

    close
  }
}
