import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  ElicitationCompleteNotificationSchema, isJSONRPCErrorResponse, UrlElicitationRequiredError,
  type JSONRPCErrorResponse
} from '@modelcontextprotocol/sdk/types.js'
import { handleUrlElicitation, urlMode as urlModeCapability, type UrlElicitationOptions } from 'fastify-mcp-connect/client'

export interface TerminalClientOptions {
  readonly mcpUrl: string
  /** Asked before each request. */
  readonly accessToken: () => Promise<string>
  /** Whether it declares URL-mode elicitation, as few clients do. @default true */
  readonly urlMode?: boolean
  /** Has it lead the person through links, and call again. Without it, a call that needs one is answered with the link. */
  readonly elicitation?: UrlElicitationOptions
  /** Closes it early, so that no call waits any longer. */
  readonly signal?: AbortSignal
}

/** What a tool asks the person to do in a browser. */
export interface UrlRequest {
  readonly elicitationId: string
  readonly url: string
  readonly message: string
}

export interface ToolResult {
  readonly kind: 'result'
  readonly text: string
  readonly isError: boolean
}

/** What stands before a tool's result, with the JSON-RPC error as it came over the wire. */
export interface UrlAnswer {
  readonly kind: 'url'
  readonly requests: readonly UrlRequest[]
  readonly wire: JSONRPCErrorResponse['error'] | undefined
}

export type ToolAnswer = ToolResult | UrlAnswer

export interface TerminalClient {
  readonly client: Client
  /** The last JSON-RPC error, as it came over the wire. */
  readonly lastError: JSONRPCErrorResponse['error'] | undefined
  /** Names of the tools that the server offers. */
  toolNames (): Promise<string[]>
  callTool (name: string, args?: Record<string, unknown>): Promise<ToolAnswer>
  /** Waits for `notifications/elicitation/complete`; it may have come already. */
  completed (elicitationId: string, limits: { readonly timeoutMs: number, readonly signal?: AbortSignal }): Promise<void>
  close (): Promise<void>
}

/** An MCP client that can show a link: it declares URL-mode elicitation, unless told otherwise, and listens for completion. */
export async function connectTerminalClient ({ mcpUrl, accessToken, urlMode = true, elicitation, signal }: TerminalClientOptions): Promise<TerminalClient> {
  const transport = new StreamableHTTPClientTransport(new URL(mcpUrl), {
    fetch: async (url, init) => {
      const headers = new Headers(init?.headers)
      headers.set('authorization', `Bearer ${await accessToken()}`)
      return await fetch(url, { ...init, headers })
    }
  })
  let lastError: JSONRPCErrorResponse['error'] | undefined
  transport.onmessage = message => {
    if (isJSONRPCErrorResponse(message)) lastError = message.error
  }

  const client = new Client({ name: 'terminal-client', version: '1.0.0' }, { capabilities: urlMode ? urlModeCapability : {} })
  const complete = new Set<string>()
  const waiting = new Map<string, () => void>()
  const handle = elicitation === undefined ? undefined : handleUrlElicitation(client, elicitation)
  if (handle === undefined) {
    client.setNotificationHandler(ElicitationCompleteNotificationSchema, ({ params: { elicitationId } }) => {
      complete.add(elicitationId)
      waiting.get(elicitationId)?.()
    })
  }
  signal?.throwIfAborted()
  const closeEarly = () => { client.close().catch(() => {}) }
  signal?.addEventListener('abort', closeEarly, { once: true })
  await client.connect(transport)

  return {
    client,
    get lastError () { return lastError },
    async toolNames () {
      const { tools } = await client.listTools()
      return tools.map(({ name }) => name)
    },
    async callTool (name, args = {}) {
      try {
        const call = async () => await client.callTool({ name, arguments: args })
        const { content, isError } = handle === undefined ? await call() : await handle.run(call)
        const text = (content as Array<{ text?: string }>).map(part => part.text ?? '').join('\n')
        return { kind: 'result', text, isError: isError === true }
      } catch (error) {
        if (!(error instanceof UrlElicitationRequiredError)) throw error
        return { kind: 'url', requests: error.elicitations, wire: lastError }
      }
    },
    async completed (elicitationId, { timeoutMs, signal }) {
      if (complete.has(elicitationId)) return
      let timer: NodeJS.Timeout | undefined
      let stop = () => {}
      try {
        await new Promise<void>((resolve, reject) => {
          stop = () => { reject(signal?.reason) }
          waiting.set(elicitationId, resolve)
          timer = setTimeout(() => { reject(new Error('nobody finished what the link is for in time')) }, timeoutMs)
          signal?.addEventListener('abort', stop)
          if (signal?.aborted === true) stop()
        })
      } finally {
        waiting.delete(elicitationId)
        clearTimeout(timer)
        signal?.removeEventListener('abort', stop)
      }
    },
    async close () {
      signal?.removeEventListener('abort', closeEarly)
      await transport.terminateSession().catch(() => {})
      await client.close()
    }
  }
}
