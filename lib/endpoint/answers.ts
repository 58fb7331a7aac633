import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'

/** For what has no code of its own in JSON-RPC. */
export const REFUSED = -32000
/** An MCP session that is not there; the SDKs say it so, too. */
export const NO_SESSION = -32001
const PARSE_ERROR = -32700
const INTERNAL_ERROR = -32603

/** Ends a request with a JSON-RPC error. */
export function refuse (reply: FastifyReply, status: number, message: string, code = REFUSED): FastifyReply {
  return reply.code(status).type('application/json').send({ jsonrpc: '2.0', error: { code, message }, id: null })
}

/** The same for what cannot be done now (RFC 9110 section 10.2.3). */
export function refuseForNow (reply: FastifyReply, status: 429 | 503, retryAfterSeconds: number, message: string): FastifyReply {
  return refuse(reply.header('retry-after', retryAfterSeconds), status, message)
}

/** Bodies that Fastify does not take, and what the application's `createServer` throws, which is for the log alone. */
export function answerError (error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { statusCode = 500 } = error
  if (statusCode >= 500) {
    request.log.error({ err: error }, 'mcp-connect: a request to the MCP endpoint failed')
    return refuse(reply, 500, 'Internal error', INTERNAL_ERROR)
  }
  return refuse(reply, statusCode, error.message, statusCode === 400 ? PARSE_ERROR : REFUSED)
}
