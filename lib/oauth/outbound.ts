import dns, { type LookupAddress, type LookupOptions } from 'node:dns'
import type { LookupFunction } from 'node:net'
import type { Agent } from 'undici'
import { mayConnect, mayRequest, type AddressPolicy } from '../ip-address.js'
import { allowLoopbackHttp, isSecure } from '../loopback.js'
import type { Registration } from '../types.js'

const TIMEOUT_MS = 10_000
const MAX_BYTES = 64 * 1024
/** Of these a Response takes no body, not even an empty one (Fetch standard, "null body status"). */
const BODILESS = [204, 205, 304]

/** A request that was not sent (`not_https`, `not_public`), or an answer that was not taken. */
export class OutboundError extends Error {
  constructor (readonly reason: 'not_https' | 'not_public' | 'answer_too_large', readonly target: URL) {
    super(reason)
  }
}

/** What the name of a host leads to. */
class NotPublicError extends Error {}

export type Fetch = (url: string, init: RequestInit) => Promise<Response>
type Resolve = (hostname: string, options: LookupOptions & { all: true }, done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void) => void

/**
 * `fetch` for requests to authorization servers: https alone (http to loopback where that is allowed), to public addresses alone
 * and those of `privateHosts`, no redirects, 10 seconds and 64 KiB at most. It fails with fixed texts, since what failed may hold tokens.
 * Each request has a connection of its own, and so an address that was looked up and checked for it.
 */
export function createOutboundFetch (registration: Pick<Registration, 'privateHosts' | typeof allowLoopbackHttp>, resolve: Resolve = dns.lookup): Fetch {
  const loopback = registration[allowLoopbackHttp] === true
  const policy: AddressPolicy = { privateHosts: registration.privateHosts, loopback }
  let dispatcher: Agent | undefined

  return async (url, init) => {
    const target = new URL(url)
    if (!isSecure(target, loopback)) throw new OutboundError('not_https', target)
    if (!mayRequest(target, policy)) throw new OutboundError('not_public', target)      // a literal address is not looked up
    const { default: undici } = await import('undici')      // late, since loading it takes a tenth of a second
    dispatcher ??= new undici.Agent({ pipelining: 0, connect: { lookup: checkedLookup(policy, resolve) } })
    const timeout = AbortSignal.timeout(TIMEOUT_MS)
    const signal = init.signal == null ? timeout : AbortSignal.any([init.signal, timeout])
    const response = await undici.fetch(url, { ...init as object, redirect: 'manual', signal, dispatcher }).catch((error: Error) => {
      throw error.cause instanceof NotPublicError ? new OutboundError('not_public', target) : error
    })
    const body = await readLimited(response.body, target)
    return new Response(BODILESS.includes(response.status) ? null : body, { status: response.status, headers: [...response.headers] })
  }
}

/** Looks a name up for a connection, which then goes to one of these very addresses. One that may not be connected to spoils them all. */
function checkedLookup (policy: AddressPolicy, resolve: Resolve): LookupFunction {
  return (hostname, options, done) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return done(error, [])
      const allowed = addresses.length > 0 && addresses.every(({ address }) => mayConnect(hostname, address, policy))
      if (!allowed) return done(new NotPublicError(), [])
      const [{ address, family }] = addresses as [LookupAddress]
      if (options.all === true) done(null, addresses)
      else done(null, address, family)
    })
  }
}

async function readLimited (body: AsyncIterable<Uint8Array> | null, target: URL): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.length
    if (size > MAX_BYTES) throw new OutboundError('answer_too_large', target)    // leaving the loop cancels the body
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
