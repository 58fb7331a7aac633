import { readManifest, readUser, urlModeOf, type AuthInfo, type GuardedCall } from './guarded-call.js'
import { isConnected, mcpSessionOf } from './mcp-session.js'
import { requiredElicitations } from './required-elicitations.js'
import type { Sdk, SdkServer } from './sdk.js'
import type { SdkV1Copy } from './sdk-v1-copies.js'

/** What is used of the context that SDK v1 passes last to every handler. */
interface Context {
  readonly authInfo?: AuthInfo
  readonly requestInfo?: { readonly headers?: Readonly<Record<string, unknown>> }
}

/** A server of SDK v1 (MCP 2025-11-25 and earlier). @param copy the one that the server was made from */
export function createSdkV1 (server: SdkServer, copy: SdkV1Copy, lowLevel: boolean): Sdk {
  return {
    lowLevel,
    describe: context => describe(server, context as Context | undefined),
    elicit ({ elicitations, message }) {
      // The SDK puts "MCP error -32042: " in front of the message, and its client does so again.
      throw Object.assign(new copy.UrlElicitationRequiredError(requiredElicitations(elicitations)), { message })
    }
  }
}

function describe (server: SdkServer, context: Context | undefined): GuardedCall {
  const manifest = readManifest(context?.requestInfo?.headers?.['mcp-protocol-version'], server.getClientCapabilities(), server.getClientVersion())
  return {
    ...readUser(context?.authInfo),
    manifest,
    urlMode: urlModeOf(manifest),
    connected: isConnected(server),
    mcpSession: mcpSessionOf(server),
    round: null
  }
}
