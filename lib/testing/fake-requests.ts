import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Ways } from './fake-quirks.js'

/** A request as it came. It holds secrets, of the fake alone. */
export interface FakeRequest {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** Of the query, or of the body, be it a form or JSON. */
  readonly parameters: Readonly<Record<string, string>>
  /** The body's media type. */
  readonly type: string
}

export async function readRequest (request: IncomingMessage): Promise<FakeRequest> {
  const { method = '', headers, url = '' } = request
  const { pathname, searchParams } = new URL(url, 'http://fake')
  const type = headers['content-type']?.split(';')[0]?.trim() ?? ''
  const body = await text(request)
  return { method, path: pathname, headers, type, parameters: body === '' ? Object.fromEntries(searchParams) : readBody(type, body) }
}

function readBody (type: string, body: string): Record<string, string> {
  if (type !== 'application/json') return Object.fromEntries(new URLSearchParams(body))
  try {
    return JSON.parse(body) ?? {}
  } catch {
    return {}
  }
}

/** Whether a request has what a header must say. */
export function hasHeaders ({ headers }: FakeRequest, { requiredHeaders }: Ways): boolean {
  return Object.entries(requiredHeaders).every(([name, value]) => value === '' ? headers[name] !== undefined : headers[name] === value)
}

/** Whether the client is the one that is registered, and authenticates as it must (RFC 6749 section 2.3.1). */
export function isClient ({ headers, parameters }: FakeRequest, { clientId, clientSecret, clientAuthentication, decodesCredentials }: Ways): boolean {
  const [scheme, credentials = ''] = headers.authorization?.split(' ') ?? []
  const basic = scheme === 'Basic'
  // Two ways at once are an error.
  if (basic && parameters['client_secret'] !== undefined) return false
  if (clientAuthentication !== undefined && clientAuthentication !== (basic ? 'client_secret_basic' : 'client_secret_post')) return false
  const [id, secret] = basic
    ? Buffer.from(credentials, 'base64').toString().split(':').map(part => decodesCredentials ? decodeURIComponent(part.replaceAll('+', ' ')) : part)
    : [parameters['client_id'], parameters['client_secret']]
  return id === clientId && secret === clientSecret
}

/** The access token that a request comes with (RFC 6750 section 2.1). */
export function bearerOf ({ headers }: FakeRequest): string {
  return /^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1] ?? ''
}

export function answer (response: ServerResponse, body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers }).end(JSON.stringify(body))
}

/** Writes a value at a dotted path. */
export function setAt (object: Record<string, unknown>, path: string, value: unknown): void {
  const names = path.split('.')
  const last = names.pop()!
  let at = object
  for (const name of names) at = (at[name] ??= {}) as Record<string, unknown>
  at[last] = value
}
