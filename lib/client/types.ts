import type { UrlRefusal } from '../errors.js'
import type { allowLoopbackHttp } from '../loopback.js'

/** What should make a person look twice at where a link leads. */
export type UrlWarning = 'punycode' | 'mixed_scripts' | 'unusual_port' | 'ip_address' | 'local_name'

/** What a server wants opened. Show `url` and `host` in full, and apart from each other; `message` is the server's own words. */
export interface UrlRequest {
  /** The address that would be opened, character by character: normalised, ASCII. */
  readonly url: string
  /** The host, as it is asked for and as people write it. They differ in internationalised names, whose Unicode form can be made to look like another one. */
  readonly host: { readonly ascii: string, readonly unicode: string }
  /** Why, in the words of the server: one line of plain text without control or bidirectional characters, of at most 500 characters. */
  readonly message: string
  readonly warnings: readonly UrlWarning[]
  /** What the server calls itself, if it does: plain text, proven by nothing. */
  readonly server: string | undefined
}

/** Aborted when the question is moot: the request was cancelled, the elicitation is complete already, or the client is closed. Take the dialog down then. */
export interface Moot {
  readonly signal: AbortSignal
}

export type Consent = 'open' | 'decline' | 'cancel'

export interface UrlElicitationOptions {
  /** Asks the person. Called once for each elicitation, one at a time; nothing is opened unless it answers `'open'`. */
  readonly consent: (request: UrlRequest, moot: Moot) => Promise<Consent>
  /**
   * Opens the URL where neither the client nor the model sees what is typed. What it throws may hold the URL, and is not passed on: log it there.
   * @default openInBrowser
   */
  readonly open?: (url: string) => Promise<void> | void
  /** Shows "I am done", and resolves when the person says so; rejects when they give up. Servers need not tell when something is complete. */
  readonly done?: (request: UrlRequest, moot: Moot) => Promise<void>
  /** How long to wait, once it is open, until it is complete or done. @default 300000 */
  readonly timeoutMs?: number
  /** How many times `run` may be sent to the browser before it gives up. @default 3 */
  readonly rounds?: number
  /** Unsafe: lets http and https to loopback through, for development and tests. @default false */
  readonly [allowLoopbackHttp]?: boolean
}

export interface UrlElicitation {
  /**
   * Makes a request, and again once what it needs was done in the browser: `callTool`, `getPrompt`, `readResource`.
   * @throws FST_MCP_CONNECT_URL_ELICITATION with the `reason`, when it ends with an error (that of a tool included) because what was asked for last
   * was not done; and whatever else the request throws
   */
  run<T> (call: () => Promise<T>, options?: { readonly signal?: AbortSignal }): Promise<T>
  /** Ends what is under way, and takes the handlers off the client. */
  close (): void
}

/** What is needed of an MCP client; `Client` of either SDK has it. */
export interface McpClientLike {
  onclose?: (() => void) | undefined
  getServerVersion (): { readonly name: string, readonly title?: string | undefined } | undefined
  assertCanSetRequestHandler (method: string): void
  setRequestHandler: (...args: never[]) => unknown
  setNotificationHandler: (...args: never[]) => unknown
  removeRequestHandler (method: string): void
  removeNotificationHandler (method: string): void
}

/** One that may be shown. */
export interface Elicitation extends Omit<UrlRequest, 'server'> {
  /** Of MCP 2025-11-25 alone. */
  readonly id: string | undefined
}

export type Checked<T> = { readonly ok: true, readonly value: T } | { readonly ok: false, readonly refusal: UrlRefusal }
