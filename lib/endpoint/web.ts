import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'

/** Takes an answer out of Fastify's hands, with the headers that hooks have set, such as those of CORS. */
export function takeOver (reply: FastifyReply): ServerResponse {
  reply.hijack()
  const { raw } = reply
  for (const [name, value] of Object.entries(reply.getHeaders())) if (value !== undefined) raw.setHeader(name, value)
  return raw
}

/** A request without its body, which has been read. */
export function toWebRequest ({ method, headers, url }: FastifyRequest, origin: string, signal?: AbortSignal): Request {
  const fields = Object.entries(headers).flatMap(([name, value = []]) => [value].flat().map((one): [string, string] => [name, one]))
  return new Request(new URL(url, origin), { method, headers: fields.filter(([name]) => !name.startsWith(':')), ...signal !== undefined && { signal } })
}

/** Aborts when the client goes before it has its answer. */
export function whenGone ({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController()
  raw.once('close', () => { if (!raw.writableFinished) gone.abort() })
  return gone.signal
}

/** Sends an answer as it comes; a client that goes ends the stream behind it. */
export async function sendResponse (reply: FastifyReply, { status, headers, body }: Response): Promise<void> {
  const raw = takeOver(reply)
  raw.writeHead(status, Object.fromEntries(headers))
  raw.flushHeaders()      // a stream may stay silent for long
  await pipeline(body === null ? [] : Readable.fromWeb(body as ReadableStream), raw).catch(() => {})
}
