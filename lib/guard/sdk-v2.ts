import type { NegotiatingServer } from '../mcp-sdks.js'
import { isObject, readManifest, readUser, urlModeOf, type Answer, type AuthInfo, type GuardedCall, type Round } from './guarded-call.js'
import { isConnected, mcpSessionOf } from './mcp-session.js'
import { requiredElicitations } from './required-elicitations.js'
import type { Sdk, SdkServer } from './sdk.js'
import type { SdkV2Copy } from './sdk-v2-copy.js'

type SdkV2Server = SdkServer & NegotiatingServer

/** What is used of the context that SDK v2 passes last to every handler. */
interface Context {
  readonly mcpReq: {
    readonly method: string
    readonly signal: AbortSignal
    readonly _meta?: { readonly progressToken?: unknown }
    readonly envelope?: Readonly<Record<string, unknown>>
    readonly inputResponses?: Readonly<Record<string, unknown>>
    readonly droppedInputResponseKeys?: readonly string[]
    notify (notification: object): Promise<void>
  }
  readonly http?: { readonly authInfo?: AuthInfo }
}

/** The first revision without `-32042`, where handlers return what they need and are called again (MCP 2026-07-28, multi round-trip requests). */
const FIRST_MODERN_REVISION = '2026-07-28'
/** The only requests that can be answered so. */
const MULTI_ROUND_TRIP = ['tools/call', 'prompts/get', 'resources/read']
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'
const CLIENT_INFO = 'io.modelcontextprotocol/clientInfo'
/** Tells our input requests from those of the handler itself. */
const KEY_PREFIX = 'connect:'

/** A server of SDK v2, in either era. @param copy any, since they know each other's errors */
export function createSdkV2 (server: SdkV2Server, copy: SdkV2Copy, lowLevel: boolean): Sdk {
  const isModern = (): boolean => (server.getNegotiatedProtocolVersion() ?? '') >= FIRST_MODERN_REVISION
  return {
    lowLevel,
    describe: context => isModern() ? describeModern(server, context as Context) : describeLegacy(server, context as Context),
    elicit ({ elicitations, message }) {
      if (!isModern()) throw new copy.UrlElicitationRequiredError(requiredElicitations(elicitations), message)
      return {
        resultType: 'input_required',
        inputRequests: Object.fromEntries(elicitations.map(({ provider, url, message }) =>
          [KEY_PREFIX + provider, { method: 'elicitation/create', params: { mode: 'url', url, message } }]))
      }
    }
  }
}

function describeLegacy (server: SdkV2Server, context: Context): GuardedCall {
  const manifest = readManifest(server.getNegotiatedProtocolVersion(), server.getClientCapabilities(), server.getClientVersion())
  return {
    ...readUser(context.http?.authInfo),
    manifest,
    urlMode: urlModeOf(manifest),
    connected: isConnected(server),
    mcpSession: mcpSessionOf(server),
    round: null
  }
}

/** Capabilities come with each request, and there are no MCP sessions. */
function describeModern (server: SdkV2Server, context: Context): GuardedCall {
  const { method, envelope } = context.mcpReq
  const manifest = readManifest(server.getNegotiatedProtocolVersion(), envelope?.[CAPABILITIES] ?? {}, envelope?.[CLIENT_INFO])
  return {
    ...readUser(context.http?.authInfo),
    manifest,
    urlMode: MULTI_ROUND_TRIP.includes(method) ? urlModeOf(manifest) : 'impossible',
    connected: true,
    mcpSession: null,
    round: describeRound(context.mcpReq)
  }
}

function describeRound (request: Context['mcpReq']): Round {
  const { signal, _meta, inputResponses = {}, droppedInputResponseKeys = [] } = request
  const responses = [...Object.entries(inputResponses), ...droppedInputResponseKeys.map(key => [key, undefined] as const)]
  const progressToken = _meta?.progressToken
  return {
    answers: new Map(responses.filter(([key]) => key.startsWith(KEY_PREFIX)).map(([key, response]) => [key.slice(KEY_PREFIX.length), readAnswer(response)])),
    signal,
    progress: progressToken === undefined
      ? null
      : async seconds => await request.notify({ method: 'notifications/progress', params: { progressToken, progress: seconds, message: 'Waiting for the user, in the browser' } })
  }
}

/** Whatever a client sent. What is no answer says that nobody has answered. */
function readAnswer (response: unknown): Answer {
  const action = isObject(response) ? response['action'] : undefined
  return action === 'accept' || action === 'decline' ? action : 'cancel'
}
