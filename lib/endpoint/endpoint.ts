import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { OptionsError } from '../errors.js'
import { answerError, NO_SESSION, refuse, refuseForNow } from './answers.js'
import { createBearerCheck, metadataPath, type AuthenticatedMessage } from './bearer.js'
import { createExchanges } from './exchanges.js'
import { loadSdk } from './load-sdk.js'
import { resolveEndpointOptions } from './options.js'
import { createOriginCheck } from './origins.js'
import type { Sdk } from './sdk.js'
import { createSessions } from './sessions.js'
import { assertFree, explainFailure, tellOfAddresses } from './start-up.js'
import type { EndpointSettings, McpEndpointOptions } from './types.js'

/** Places in the table of MCP sessions become free by and by. */
const RETRY_AFTER_S = 60

/** What a session begins with (MCP 2025-11-25, lifecycle); a batch is none. */
const initialize = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.number()]),
  method: z.literal('initialize'),
  params: z.object({
    protocolVersion: z.string(), capabilities: z.object({}), clientInfo: z.object({ name: z.string(), version: z.string() })
  })
})

/**
 * A Fastify plugin: an MCP endpoint by Streamable HTTP for verified bearer tokens alone, with the protected resource metadata by which
 * clients find where to sign in (RFC 9728). Handlers get the verified claims as `authInfo.extra`, where the guard looks for them.
 * @throws FST_MCP_CONNECT_OPTIONS; when the application gets ready, also FST_MCP_CONNECT_SDK_UNREACHABLE, and whatever `createServer` throws
 */
export async function mcpEndpoint (app: FastifyInstance, options: McpEndpointOptions): Promise<void> {
  const settings = resolveEndpointOptions(options)
  // Clients look for it at the root alone.
  if (app.prefix !== '') throw new OptionsError('mcpEndpoint: register it without a prefix, since its metadata have a fixed place; path says where the endpoint is')
  assertFree(app, settings.path)
  let sdk: Sdk | undefined
  const sessions = createSessions(settings, async (id, onclose) => await sdk!.connect(id, onclose), app.log)
  const exchanges = createExchanges()

  async function handle (request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const auth = (request.raw as AuthenticatedMessage).auth!
    const id = request.headers['mcp-session-id']
    exchanges.add(reply.raw)
    if (request.method === 'POST' && await sdk!.serve(request, reply, auth)) return
    if (id !== undefined) {
      const session = sessions.find(String(id), auth)
      return session === undefined ? refuse(reply, 404, 'Session not found', NO_SESSION) : await session.handle(request, reply, auth)
    }
    if (!initialize.safeParse(request.body).success) return refuse(reply, 400, 'An MCP session begins with an initialize request')
    switch (await sessions.open(request, reply, auth)) {
      case 'too many': return refuseForNow(reply, 503, RETRY_AFTER_S, 'There are too many MCP sessions')
      case 'too many of one': return refuseForNow(reply, 429, RETRY_AFTER_S, 'You have too many MCP sessions, all of them with calls that are running')
    }
  }

  app.addHook('onReady', async () => {
    tellOfAddresses(app, settings)
    sdk = await loadSdk(settings, app.log).catch((error: unknown) => { throw explainFailure(app, error) })
  })
  // Open streams would keep the server from closing.
  app.addHook('preClose', async () => { await Promise.all([sessions.close(), sdk?.close(), exchanges.end()]) })
  app.setErrorHandler(answerError)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, app.getDefaultJsonParser('error', 'error'))
  serveMetadata(app, settings.auth)
  app.route({
    method: ['GET', 'POST', 'DELETE'],
    url: settings.path,
    exposeHeadRoute: false,
    onRequest: [createOriginCheck(settings), createBearerCheck(settings)],
    handler: handle
  })
}

/** Protected resource metadata (RFC 9728 section 2), which pages of any origin may read. */
function serveMetadata (app: FastifyInstance, auth: EndpointSettings['auth']): void {
  const { resource, issuer, scopes } = auth
  const metadata = {
    resource, authorization_servers: [issuer], bearer_methods_supported: ['header'], ...scopes.length > 0 && { scopes_supported: scopes }
  }
  const url = metadataPath(auth)
  app.get(url, { exposeHeadRoute: false }, async (_request, reply) => await reply.header('access-control-allow-origin', '*').send(metadata))
  app.options(url, async (_request, reply) => await reply.code(204)
    .headers({ 'access-control-allow-origin': '*', 'access-control-allow-methods': 'GET', 'access-control-allow-headers': 'mcp-protocol-version' }).send())
}
