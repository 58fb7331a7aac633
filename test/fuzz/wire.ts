import * as fc from 'fast-check'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { BASE_URL } from './app.js'
import { applyEdit, edit, type Edit } from './edits.js'
import { bodyOf, headersOf, targetOf, type Draft } from './requests.js'

/** How the bytes of a request are spoiled. */
export interface Spelling {
  /** What stands before the path. */
  readonly origin: string
  readonly version: string
  readonly newline: string
  readonly framing: 'length' | 'chunked' | 'both' | 'none'
  /** How much longer the body is said to be than it is. */
  readonly more: number
  /** How often the request is sent, in one go. */
  readonly times: number
  readonly edits: readonly Edit[]
}

const mostly = <T>(usual: T, ...others: T[]): fc.Arbitrary<T> => fc.oneof({ weight: 12, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(...others) })

export const spelling: fc.Arbitrary<Spelling> = fc.record({
  origin: mostly('', BASE_URL, 'http://127.0.0.1', '//attacker.example', '/.'),
  version: mostly('1.1', '1.0', '0.9', '2.0', '9.9', ''),
  newline: mostly('\r\n', '\n', '\r', '\r\n '),
  framing: mostly<Spelling['framing']>('length', 'chunked', 'both', 'none'),
  more: mostly(0, 1, -1, 1000),
  times: mostly(1, 2, 3),
  edits: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: fc.array(edit, { maxLength: 3 }) })
}, { noNullPrototype: true })

const PLAIN: Spelling = { origin: '', version: '1.1', newline: '\r\n', framing: 'length', more: 0, times: 1, edits: [] }

export function spell (draft: Draft, spelling = PLAIN): string {
  const { origin, version, newline, framing, more, times, edits } = spelling
  const body = bodyOf(draft)
  const length = Buffer.byteLength(body)
  const chunked = framing === 'chunked' || framing === 'both'
  const headers = [
    ...headersOf(draft), ['connection', 'close'],
    ...length > 0 && (framing === 'length' || framing === 'both') ? [['content-length', String(length + more)]] : [],
    ...length > 0 && chunked ? [['transfer-encoding', 'chunked']] : []
  ]
  const head = [`${draft.method} ${origin}${targetOf(draft)} HTTP/${version}`, ...headers.map(pair => pair.join(': ')), '', ''].join(newline)
  const rest = chunked && length > 0 ? `${(length + more).toString(16)}\r\n${body}\r\n0\r\n\r\n` : body
  return edits.reduce(applyEdit, head + rest).repeat(times)
}

/** What a connection has brought: the requests that the server has seen in it, and what came back. */
export interface Exchange {
  readonly urls: readonly string[]
  readonly answers: readonly string[]
}

/** A client that waits no longer for what is incomplete. */
const QUIET_MS = 25

/** Sends bytes over sockets of their own, one after the other. */
export function createWire (server: Server): (bytes: string) => Promise<Exchange> {
  let seen: Array<{ readonly url: string, readonly request: IncomingMessage, readonly response: ServerResponse }> = []
  server.prependListener('request', (request, response) => { seen.push({ url: request.url ?? '', request, response }) })

  return async bytes => {
    seen = []
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    let received = ''
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => { received += chunk })
    socket.on('error', () => {})                       // the server may close while we still write
    const close = new Promise<void>(resolve => socket.on('close', resolve))
    socket.write(bytes)
    while (!socket.closed) {
      const before = received.length
      await Promise.race([close, delay(QUIET_MS)])
      const waits = seen.some(({ request, response }) => request.complete && !response.writableFinished && !response.destroyed)
      if (socket.closed || waits || received.length > before) continue
      socket.end()
      await close
    }
    // Handlers go on when nobody waits for them any longer.
    while (!seen.every(({ response }) => response.writableEnded)) await delay(1)
    return { urls: seen.map(({ url }) => url), answers: received.split(/(?=HTTP\/1\.[01] \d{3} )/).filter(answer => answer !== '') }
  }
}
