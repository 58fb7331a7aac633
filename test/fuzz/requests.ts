import * as fc from 'fast-check'
import { METHODS } from 'node:http'
import { BASE_URL } from './app.js'
import { applyEdit, CANARY, edit, text, type Edit } from './edits.js'
import type { Pair, Person } from './person.js'

const PARTS = ['path', 'query', 'cookies', 'headers', 'body'] as const
type Part = typeof PARTS[number]

/** A request, as it is written on the wire. Segments of a path are pairs without a name. */
export interface Draft extends Readonly<Record<Part, readonly Pair[]>> {
  readonly method: string
}

/** What people come to do. */
const ERRANDS = ['connections', 'link', 'done', 'start', 'decline', 'connect', 'disconnect', 'callback'] as const
/** And where the login is the plugin's. */
const LOGIN_ERRANDS = ['login', 'signIn', 'signOut', 'signedOut'] as const
type Errand = typeof ERRANDS[number] | typeof LOGIN_ERRANDS[number]

const segments = (...path: string[]): Pair[] => path.map(segment => ['', segment])
const encoded = (pairs: readonly Pair[]): Pair[] => pairs.map(([name, value]) => [name, encodeURIComponent(value)])

/** The genuine request of somebody, with everything that it needs to be let through. */
export function genuine (errand: Errand, { link, forms, session, cookies, callback, signIn }: Person): Draft {
  const get = (path: string[], query: readonly Pair[] = []): Draft => ({
    method: 'GET',
    path: segments('connect', ...path),
    // Parameters and cookies that nobody knows are ignored, and must not come back either.
    query: [...encoded(query), ['more', CANARY]],
    cookies: [...session === undefined ? [] : [session], ...cookies, ['more', CANARY]],
    headers: [['host', new URL(BASE_URL).host], ['accept', 'text/html'], ['x-more', CANARY]],
    body: []
  })
  const post = (...path: string[]): Draft => {
    const draft = get(path)
    const headers: Pair[] = [['origin', BASE_URL], ['sec-fetch-site', 'same-origin'], ['content-type', 'application/x-www-form-urlencoded']]
    return { ...draft, method: 'POST', headers: [...draft.headers, ...headers], body: encoded([['csrf', forms[errand] ?? '']]) }
  }
  switch (errand) {
    case 'connections': return get([])
    case 'link': return get([link])
    case 'done': return get([link, 'done'])
    case 'start': return post(link, 'start')
    case 'decline': return post(link, 'decline')
    case 'connect': return post('providers', 'acme', 'connect')
    case 'disconnect': return post('providers', 'other', 'disconnect')
    case 'callback': return get(['callback', 'acme'], callback)
    case 'login': return get(['login'], [['returnTo', `/connect/${link}`], ['switch', 'true']])
    case 'signIn': return get(['login', 'callback'], signIn)
    case 'signOut': return post('login', 'sign-out')
    case 'signedOut': return get(['login', 'signed-out'])
  }
}

/** What is changed of a genuine request. `at` is the number of a pair, and fits any part; `swap` puts there what another person has there. */
type Change =
  | { readonly change: 'method', readonly to: string }
  | Editing
  | { readonly change: 'add', readonly part: Part, readonly at: number, readonly pair: Pair }
  | { readonly change: 'drop', readonly part: Part, readonly at: number }
  | { readonly change: 'repeat', readonly part: Part, readonly at: number }
  | { readonly change: 'swap', readonly part: Part, readonly at: number, readonly person: number }
  | Taking

interface Editing {
  readonly change: 'edit'
  readonly part: Part
  readonly at: number
  /** Its name or its value. */
  readonly side: 0 | 1
  readonly edit: Edit
}

/** The place of a pair is taken by one of another request, of the same person or another. */
interface Taking {
  readonly change: 'take'
  readonly part: Part
  readonly at: number
  readonly errand: Errand
  readonly person: number
  readonly from: number
  /** Or its value alone. */
  readonly whole: boolean
}

/** A request by what it comes from, so that it means the same in every run. */
export interface RequestInput {
  readonly person: number
  readonly errand: Errand
  readonly changes: readonly Change[]
}

const NAMES = ['state', 'code', 'iss', 'error', 'returnTo', 'switch', 'csrf', '__proto__', 'constructor', '__Host-mcp-connect-form-', '__Host-mcp-connect-form-0123456789abcdef', '__Host-mcp-connect-session',
  '__Host-mcp-connect-flow-', '__Host-mcp-connect-flow-0123456789abcdef', '__Host-mcp-connect-login-']

const HEADERS: readonly Pair[] = [
  ['content-type', 'application/json'], ['content-type', 'application/x-www-form-urlencoded; charset=utf-16'], ['content-type', 'multipart/form-data; boundary=x'],
  ['content-type', 'text/plain'], ['content-type', ''], ['content-type', '__proto__'], ['content-type', 'application/x-www-form-urlencoded;'],
  ['content-length', '0'], ['content-length', '-1'], ['content-length', '99999999'], ['content-encoding', 'gzip'], ['transfer-encoding', 'chunked'], ['transfer-encoding', 'gzip, chunked'],
  ['accept', 'application/json'], ['accept', '*/*'], ['accept-version', '1.0.0'], ['expect', '100-continue'], ['expect', CANARY], ['upgrade', 'websocket'], ['connection', 'upgrade'], ['connection', 'keep-alive'],
  ['host', 'attacker.example'], ['host', ''], ['x-forwarded-host', 'attacker.example'], ['x-forwarded-for', '::ffff:10.0.0.1'], ['x-http-method-override', 'POST'],
  ['origin', 'null'], ['origin', 'https://attacker.example'], ['sec-fetch-site', 'cross-site'], ['if-none-match', '*'], ['range', 'bytes=0-1'], ['__proto__', CANARY], ['cookie', `more=${CANARY}`], ['te', 'trailers']
]

const record = <T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> => fc.record(model, { noNullPrototype: true })
const part = fc.constantFrom(...PARTS)
const at = fc.nat({ max: 30 })
const person = fc.nat({ max: 2 })
const name = fc.oneof(fc.constantFrom(...NAMES), text)

function changeOf (errand: fc.Arbitrary<Errand>): fc.Arbitrary<Change> {
  const edits = record({ change: fc.constant('edit'), part, at, side: fc.constantFrom(0, 1, 1), edit })
  return fc.oneof(
    record({ change: fc.constant('method'), to: fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...METHODS) }, { weight: 1, arbitrary: text }) }),
    edits,
    edits,
    record({ change: fc.constant('add'), part: fc.constantFrom('query', 'cookies', 'body', 'path'), at, pair: fc.tuple(name, text) }),
    record({ change: fc.constant('add'), part: fc.constant('headers'), at, pair: fc.oneof(fc.constantFrom(...HEADERS), fc.tuple(name, text)) }),
    record({ change: fc.constantFrom('drop', 'repeat'), part, at }),
    record({ change: fc.constant('swap'), part: fc.constantFrom('path', 'query', 'cookies', 'body'), at, person }),
    record({ change: fc.constant('take'), part, at, errand, person, from: at, whole: fc.boolean() })
  ) as fc.Arbitrary<Change>
}

export function requestInput (login: 'own' | 'oidcLogin'): fc.Arbitrary<RequestInput> {
  const errand = fc.constantFrom(...ERRANDS, 'callback', 'callback', ...login === 'own' ? [] : LOGIN_ERRANDS)
  const change = changeOf(errand)
  return record({
    person: fc.constantFrom(0, 0, 1, 1, 2),
    errand,
    // Most of what is let in by one check is turned away by the next.
    changes: fc.oneof({ weight: 1, arbitrary: fc.constant([]) }, { weight: 4, arbitrary: fc.tuple(change) }, { weight: 3, arbitrary: fc.array(change, { minLength: 2, maxLength: 4 }) })
  })
}

/** @param canary the text that is to be recognised */
export function draftOf ({ person, errand, changes }: RequestInput, people: readonly Person[], canary: string): Draft {
  const genuineOf = (person: number, other = errand): Draft => genuine(other, people[person]!)
  const changed = changes.reduce((draft, change) => applyChange(draft, change, genuineOf), genuineOf(person))
  const marked = (value: string): string => value.replaceAll(CANARY, canary)
  const entries = PARTS.map(part => [part, changed[part].map(pair => pair.map(marked))])
  return { method: marked(changed.method), ...Object.fromEntries(entries) as Record<Part, Pair[]> }
}

/** @param genuineOf gives the same request of somebody else, or another one of theirs */
function applyChange (draft: Draft, change: Change, genuineOf: (person: number, errand?: Errand) => Draft): Draft {
  if (change.change === 'method') return { ...draft, method: change.to }
  const pairs = [...draft[change.part]]
  const index = pairs.length === 0 ? 0 : change.at % pairs.length
  const found = pairs[index]
  if (change.change === 'add') pairs.splice(index, 0, change.pair)
  else if (found === undefined) return draft
  else if (change.change === 'drop') pairs.splice(index, 1)
  else if (change.change === 'repeat') pairs.splice(index, 0, found)
  else if (change.change === 'swap') pairs[index] = genuineOf(change.person)[change.part][index] ?? found
  else pairs[index] = change.change === 'take' ? taken(found, change, genuineOf(change.person, change.errand)) : edited(found, change)
  return { ...draft, [change.part]: pairs }
}

function edited ([name, value]: Pair, { side, edit }: Editing): Pair {
  return side === 0 ? [applyEdit(name, edit), value] : [name, applyEdit(value, edit)]
}

function taken (pair: Pair, { part, from, whole }: Taking, { [part]: others }: Draft): Pair {
  const other = others[from % Math.max(1, others.length)]
  if (other === undefined) return pair
  return whole ? other : [pair[0], other[1]]
}

const joined = (pairs: readonly Pair[], separator: string): string => pairs.map(([name, value]) => `${name}=${value}`).join(separator)

export function targetOf ({ path, query }: Draft): string {
  return `${path.map(([, segment]) => `/${segment}`).join('')}${query.length === 0 ? '' : `?${joined(query, '&')}`}`
}

export function headersOf ({ headers, cookies }: Draft): Pair[] {
  return [...headers, ...cookies.length === 0 ? [] : [['cookie', joined(cookies, '; ')] as const]]
}

export function bodyOf ({ body }: Draft): string {
  return joined(body, '&')
}
