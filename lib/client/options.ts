import { z } from 'zod'
import { ClientOptionsError } from '../errors.js'
import { allowLoopbackHttp } from '../loopback.js'
import { objectErrors } from '../schemas.js'
import { openInBrowser } from './open-in-browser.js'
import type { McpClientLike, UrlElicitationOptions } from './types.js'

const MINUTE_MS = 60_000
const CONSENT = "must be a function (request, { signal }) that asks the person, and answers 'open', 'decline' or 'cancel'"
const TIMEOUT = 'must be milliseconds, from 1 to 3600000 (an hour)'
const ROUNDS = 'must be a number from 1 to 10'

const method = <T>(message: string): z.ZodType<T> => z.custom<T>(value => typeof value === 'function', message)

const shape = {
  consent: method<UrlElicitationOptions['consent']>(CONSENT),
  open: method<Required<UrlElicitationOptions>['open']>('must be a function that opens a URL').default(() => openInBrowser),
  done: method<Required<UrlElicitationOptions>['done']>('must be a function (request, { signal }) that resolves when the person says that they are done').exactOptional(),
  timeoutMs: z.int(TIMEOUT).min(1, TIMEOUT).max(60 * MINUTE_MS, TIMEOUT).default(5 * MINUTE_MS),
  rounds: z.int(ROUNDS).min(1, ROUNDS).max(10, ROUNDS).default(3)
}
const schema = z.strictObject(shape, { error: objectErrors(Object.keys(shape)) }).readonly()

export type ClientSettings = z.infer<typeof schema> & { readonly loopback: boolean }

/** @throws FST_MCP_CONNECT_CLIENT_OPTIONS */
export function resolveClientOptions (options: UrlElicitationOptions): ClientSettings {
  const result = schema.safeParse(options)
  if (!result.success) throw new ClientOptionsError(z.prettifyError(result.error))
  return { ...result.data, loopback: options[allowLoopbackHttp] === true }
}

const METHODS = ['getServerVersion', 'assertCanSetRequestHandler', 'setRequestHandler', 'setNotificationHandler', 'removeRequestHandler', 'removeNotificationHandler'] as const

/** @throws FST_MCP_CONNECT_CLIENT_OPTIONS */
export function assertClient (client: McpClientLike): void {
  if (METHODS.some(name => typeof client?.[name] !== 'function')) {
    throw new ClientOptionsError('takes a Client of @modelcontextprotocol/sdk or @modelcontextprotocol/client first')
  }
}
