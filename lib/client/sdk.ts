import { z } from 'zod'
import { ClientOptionsError } from '../errors.js'
import type { McpClientLike } from './types.js'

/** What is used of the context that comes with a request: SDK v1 has the signal in it, v2 within `mcpReq`. */
interface Context {
  readonly signal?: AbortSignal
  readonly mcpReq?: { readonly signal?: AbortSignal }
}

type RequestHandler = (params: unknown, signal: AbortSignal | undefined) => Promise<object>
type Handler = (message: { readonly params?: unknown }, context?: Context) => unknown
type Setter = (what: unknown, handler: Handler) => unknown

const CREATE = 'elicitation/create'
const COMPLETE = 'notifications/elicitation/complete'
const NO_URL_MODE = 'the client does not declare URL mode; make it with new Client(info, { capabilities: urlMode })'

/** Answers `elicitation/create`. @throws FST_MCP_CONNECT_CLIENT_OPTIONS */
export function onCreate (client: McpClientLike, handler: RequestHandler): () => void {
  attempt(() => { client.assertCanSetRequestHandler(CREATE) }, `the client has a handler of ${CREATE} already; leave that to this one`)
  if (!mayDeclareUrlMode(client)) throw new ClientOptionsError(NO_URL_MODE)
  attempt(() => {
    register(client.setRequestHandler.bind(client) as Setter, CREATE, async ({ params }, context) => await handler(params, context?.signal ?? context?.mcpReq?.signal))
  }, NO_URL_MODE)
  return () => { client.removeRequestHandler(CREATE) }
}

/**
 * Whether a client may declare URL mode. The SDKs themselves refuse only what declares no elicitation at all, and give out nowhere what a client
 * declares: this is where both keep it. Where it is not there, they have the say.
 */
function mayDeclareUrlMode (client: McpClientLike): boolean {
  const { _capabilities: declared } = client as { readonly _capabilities?: { readonly elicitation?: { readonly url?: unknown } } }
  return declared === undefined || typeof declared.elicitation?.url === 'object'
}

/** Takes `notifications/elicitation/complete`. */
export function onComplete (client: McpClientLike, handler: (id: string) => void): () => void {
  register(client.setNotificationHandler.bind(client) as Setter, COMPLETE, ({ params }) => {
    const { elicitationId } = { ...params as { readonly elicitationId?: unknown } | undefined }
    if (typeof elicitationId === 'string') handler(elicitationId)
  })
  return () => { client.removeNotificationHandler(COMPLETE) }
}

/** SDK v2 takes the name of a method. v1 throws at that: it takes a schema of zod, from whichever copy, that holds the name. So neither need be loaded here. */
function register (set: Setter, method: string, handler: Handler): void {
  try {
    set(method, handler)
  } catch {
    set(z.looseObject({ method: z.literal(method), params: z.looseObject({}) }), handler)
  }
}

function attempt (work: () => void, otherwise: string): void {
  try {
    work()
  } catch {
    throw new ClientOptionsError(otherwise)
  }
}
