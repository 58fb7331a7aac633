import { STATUS_CODES } from 'node:http'
import { headerFaults } from '../fixtures/headers.js'
import type { Person } from './person.js'
import type { World } from './world.js'

/** An answer, as it is written on the wire. */
export interface Answer {
  /** The target of the request that it answers. */
  readonly url: string
  readonly text: string
}

/** Of the README's table "Errors": what a provider or authorization server has caused. */
const DOCUMENTED_FAULTS = [502]

const OWN_COOKIE = /^__Host-mcp-connect-[\w-]+=[^;]*; (Max-Age=\d+; )?Path=\/; HttpOnly; Secure; SameSite=Lax$/

/** Whether a request is for the pages of the plugin, in whichever form its target is. */
export function isOurs (url: string): boolean {
  return /^(https?:\/\/[^/]*)?\/connect(?=[/?#]|$)/.test(url)
}

/**
 * Looks at one answer. @throws when something does not hold that must hold for all of them
 * @param visitors those whose sessions the request came with
 */
export function judge (world: World, { url, text }: Answer, canary: string, visitors: readonly Person[]): string {
  const [, status = ''] = /^HTTP\/1\.[01] (\d{3}) /.exec(text) ?? []
  if (Number(status) >= 500 && !DOCUMENTED_FAULTS.includes(Number(status))) throw new Error(`status ${status}`)
  if (!isOurs(url)) return status
  const [head = '', body = ''] = split(text)
  const lines = head.split('\r\n').slice(1).map(line => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()] as const)
  const all = (wanted: string): string[] => lines.filter(([name]) => name === wanted).map(([, value]) => value)
  const twice = lines.find(([name]) => name !== 'set-cookie' && all(name).length > 1)
  const faults = [...headerFaults(Object.fromEntries(lines), true), ...twice === undefined ? [] : [`${twice[0]} twice`]]
  if (faults.length > 0) throw new Error(`status ${status} with ${faults.join('; ')}`)
  for (const location of all('location')) if (!isPlace(location, world)) throw new Error('a redirect to somewhere else')
  for (const cookie of all('set-cookie')) if (!OWN_COOKIE.test(cookie)) throw new Error('a cookie that is not as ours are')
  const [path = ''] = url.split(/[?#]/)
  const shown = status === '200' ? world.people.find(({ link }) => path.includes(link)) : undefined
  if (shown !== undefined && !visitors.includes(shown)) throw new Error(`the link of ${shown.name} is shown to somebody else`)
  if (text.includes(canary)) throw new Error('what was sent comes back')
  const found = world.secrets.find(`${head}\n${body.replace(/<style>.*?<\/style>/s, '')}`, ({ kind, owner }) =>
    kind === 'link' || (owner !== undefined && visitors.some(({ name }) => name === owner) && ['form', 'name'].includes(kind)))
  if (found !== undefined) throw new Error(`${found.kind} of ${found.owner ?? 'the server'} stands in an answer`)
  return status
}

function split (text: string): [head: string, body: string] {
  const end = text.indexOf('\r\n\r\n')
  return end < 0 ? [text, ''] : [text.slice(0, end), text.slice(end)]
}

function isPlace (location: string, { issuer }: World): boolean {
  return /^(https:\/\/mcp\.example\.com)?\/connect([/?]|$)/.test(location) || /^\/login\?returnTo=%2Fconnect(%2F[\w-]{43}(%2Fdone)?)?$/.test(location) || location.startsWith(`${issuer}/auth?`)
}

/** Looks at what was logged meanwhile. @throws when a secret is there, or something that was sent */
export function judgeLog (world: World, log: string, canary: string): void {
  // The one message that repeats something: README, "Errors".
  const rest = log.replace(/A form came with the Origin .*?, and baseUrl is/g, '')
  if (rest.includes(canary)) throw new Error(`what was sent stands in the log: ${lineWith(rest, canary)}`)
  const found = world.secrets.find(rest)
  if (found !== undefined) throw new Error(`${found.kind} of ${found.owner ?? 'the server'} stands in the log`)
}

function lineWith (log: string, text: string): string {
  return log.split('\n').find(line => line.includes(text)) ?? ''
}

/** Writes an injected answer as if it had come over a socket. */
export function onTheWire (status: number, headers: Readonly<Record<string, number | string | string[] | undefined>>, body: string): string {
  const lines = Object.entries(headers).flatMap(([name, values]) => [values ?? []].flat().map(value => `${name}: ${value}`))
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', body].join('\r\n')
}
