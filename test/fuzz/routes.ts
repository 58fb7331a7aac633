import type { FastifyInstance, InjectOptions } from 'fastify'
import * as fc from 'fast-check'
import { randomBytes } from 'node:crypto'
import { METHODS } from 'node:http'
import type { Target } from './fuzz.js'
import type { Person } from './person.js'
import { bodyOf, draftOf, headersOf, requestInput, targetOf, type Draft, type RequestInput } from './requests.js'
import { isOurs, judge, judgeLog, onTheWire } from './verdict.js'
import { createWire, spell, spelling, type Exchange, type Spelling } from './wire.js'
import { startWorld, type World, type WorldOptions } from './world.js'

interface Input extends RequestInput {
  /** How it is written into a socket; `null`: it reaches Fastify without one. */
  readonly spelling: Spelling | null
}

/** All routes of a server, and what is none. */
export function routes (name: string, options: WorldOptions, over: 'inject' | 'socket' | 'both' = 'both'): Target<Input> {
  const spellings = { inject: fc.constant(null), socket: spelling, both: fc.option(spelling, { freq: 2 }) }
  let world: World
  let wire: ReturnType<typeof createWire>
  /** Those who have used up what they had: it is made anew, so that the next request gets as far. */
  const worn: Person[] = []

  function check ({ urls, answers }: Exchange, sent: string, canary: string, visitors: readonly Person[]): string[] {
    const early = answers.filter(isEarly)
    const others = answers.filter(answer => !isEarly(answer))
    if (others.length > urls.length) throw new Error('more answers than requests')
    const statuses = others.map((text, i) => judge(world, { url: urls[i]!, text }, canary, visitors))
    const log = world.takeLog()
    if (urls.every(isOurs)) judgeLog(world, log, canary)
    for (const { kind, owner } of world.takeWrites()) {
      const visitor = visitors.find(visitor => visitor.owner === owner)
      if (visitor === undefined) throw new Error('the vault of somebody who was not there has changed')
      if (!isTheirWish(kind, sent, visitor)) throw new Error(`a ${kind} in the vault that its owner has not asked for`)
    }
    return [...statuses, ...early.map(text => `${text.slice(9, 12)} early`), ...answers.length === 0 ? ['closed'] : []]
  }

  return {
    name,
    inputs: fc.tuple(requestInput(options.login), spellings[over]).map(([request, spelling]) => ({ ...request, spelling })),
    round: 100,
    share: 16,
    async open () {
      world = await startWorld(options)
      wire = createWire(world.app.server)
    },
    async begin () {
      worn.length = 0
      await world.begin()
    },
    async prepare () {
      for (const person of worn.splice(0)) await world.renew(person)
    },
    async try ({ spelling, ...input }) {
      const canary = randomBytes(8).toString('hex')
      const draft = draftOf(input, world.people, canary)
      const sent = spell(draft, spelling ?? undefined)
      const exchange = spelling === null && isReadable(draft) ? await inject(world.app, draft) : await wire(sent)
      const visitors = world.people.filter(({ session }) => session !== undefined && sent.includes(session[1]))
      try {
        const outcomes = check(exchange, sent, canary, visitors)
        if (exchange.answers.some(hasMoved)) worn.push(...visitors)
        return outcomes
      } catch (error) {
        throw new Error(`${(error as Error).message}\n${sent.slice(0, 2000)}`)
      }
    },
    end: async () => await world.end(),
    close: async () => await world?.close()
  }
}

/** Sends what can be sent without a socket: no bytes that are no request. */
async function inject (app: FastifyInstance, draft: Draft): Promise<Exchange> {
  const method = (METHODS.includes(draft.method) ? draft.method : 'GET') as InjectOptions['method'] & string
  const headers = new Map<string, string>()
  for (const [name, value] of headersOf(draft).map(([name, value]) => [name.toLowerCase(), value] as const)) {
    headers.set(name, name === 'cookie' && headers.has(name) ? `${headers.get(name)}; ${value}` : value)
  }
  // Inject reads addresses as browsers do, for whom a backslash is a slash, and dots lead upwards.
  const { pathname, search } = new URL(`http://localhost${targetOf(draft).replaceAll('\\', '%5C')}`)
  const body = bodyOf(draft)
  const { statusCode, headers: answered, body: page } = await app.inject({
    method, url: pathname + search, headers: Object.fromEntries(headers), ...body !== '' && { payload: body }
  })
  return { urls: [pathname + search], answers: [onTheWire(statusCode, answered, page)] }
}

/** Whether somebody was let through. */
function hasMoved (answer: string): boolean {
  return /^HTTP\/1\.1 303 /.test(answer) && !/^location: \/(connect\/)?login/im.test(answer)
}

/** Addresses that Fastify cannot read are looked at by the server, which inject goes past. */
function isReadable ({ path }: Draft): boolean {
  try {
    return path.every(([, segment]) => decodeURIComponent(segment) !== '' && segment.length <= 100)
  } catch {
    return false
  }
}

/** Where there is no request, there is nobody to answer: what Node and Fastify say to bytes that are none, or are too many. */
function isEarly (answer: string): boolean {
  const [, status = '', head = '', body = ''] = /^HTTP\/1\.1 (100|400|408|417|431) [^\r]*(.*?)\r\n\r\n(.*)$/s.exec(answer) ?? []
  if (status === '') return false
  return /content-type/i.test(head) ? /^\{"error":"[\w ]+","message":"[\w ]+","statusCode":\d+\}$/.test(body) : /^(0\r\n\r\n)?$/.test(body)
}

/** Whether a request holds all that its owner must bring: the answer of the provider and a cookie, or the token of the form. */
function isTheirWish (kind: 'put' | 'delete', sent: string, { callback, cookies, forms }: Person): boolean {
  const decoded = sent.replace(/%([0-9a-f]{2})/gi, (_, byte: string) => String.fromCharCode(parseInt(byte, 16)))
  if (kind === 'delete') return decoded.includes(forms['disconnect']!)
  return callback.every(([, value]) => decoded.includes(value)) && cookies.some(([name, value]) => name.includes('-flow-') && sent.includes(value))
}
