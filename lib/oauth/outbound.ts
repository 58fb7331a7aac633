import { isSecure } from '../loopback.js'

const TIMEOUT_MS = 10_000
const MAX_BYTES = 64 * 1024

/** A request that was not sent, or an answer that was not taken. */
export class OutboundError extends Error {
  constructor (readonly reason: 'not_https' | 'answer_too_large') {
    super(reason)
  }
}

type Fetch = (url: string, init: RequestInit) => Promise<Response>

/**
 * `fetch` for requests to authorization servers: https alone (http to loopback where the provider allows it), no
 * redirects, 10 seconds and 64 KiB at most. It fails with fixed texts, since what failed may hold tokens.
 */
export function createOutboundFetch (loopbackHttp: boolean): Fetch {
  return async (url, init) => {
    if (!isSecure(new URL(url), loopbackHttp)) throw new OutboundError('not_https')
    const timeout = AbortSignal.timeout(TIMEOUT_MS)
    const signal = init.signal == null ? timeout : AbortSignal.any([init.signal, timeout])
    const response = await fetch(url, { ...init, redirect: 'manual', signal })
    const body = await readLimited(response)
    const bodiless = response.status === 204 || response.status === 304
    return new Response(bodiless ? null : body, { status: response.status, headers: response.headers })
  }
}

async function readLimited (response: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > MAX_BYTES) throw new OutboundError('answer_too_large')    // leaving the loop cancels the body
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
