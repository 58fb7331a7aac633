import { AsyncLocalStorage } from 'node:async_hooks'
import { ClientOptionsError, UrlElicitationError } from '../errors.js'
import { plainText } from '../plain-text.js'
import { lead } from './lead.js'
import { assertClient, resolveClientOptions } from './options.js'
import { answerCreate, type Asked, type ElicitationServices } from './requests.js'
import type { RawElicitation } from './required.js'
import { runWithElicitations } from './run.js'
import { onComplete, onCreate } from './sdk.js'
import type { Checked, Elicitation, McpClientLike, UrlElicitation, UrlElicitationOptions } from './types.js'
import { checkUrl } from './url.js'
import { createVisits } from './visits.js'

/** The capabilities of a client that opens URLs, and shows no forms. */
export const urlMode = Object.freeze({ elicitation: Object.freeze({ url: Object.freeze({}) }) })

const MESSAGE_LENGTH = 500
const NAME_LENGTH = 60

/**
 * Makes a client of either MCP SDK do what servers in URL mode ask for, by the rules of MCP: `https:` alone, and nothing is opened or fetched
 * unless the person says yes to that address. Call it once for each client, before `connect`.
 * (MCP 2025-11-25 and 2026-07-28, elicitation; SEP-1036)
 * @throws FST_MCP_CONNECT_CLIENT_OPTIONS
 */
export function handleUrlElicitation (client: McpClientLike, options: UrlElicitationOptions): UrlElicitation {
  assertClient(client)
  const settings = resolveClientOptions(options)
  const visits = createVisits(async (elicitation, signal) => await lead(elicitation, serverName(client), settings, signal))
  const services: ElicitationServices = { visits, check: raw => checkElicitation(raw, settings.loopback), rounds: settings.rounds }
  const runs = new AsyncLocalStorage<Asked>()
  const end = listen(client, {
    create: async (params, signal) => await answerCreate(services, params, runs.getStore(), signal),
    complete: visits.complete,
    closed: () => { visits.abort(new UrlElicitationError('closed')) }       // the client may be connected again
  })

  return {
    async run (call, { signal } = {}) {
      if (typeof call !== 'function') throw new ClientOptionsError('run takes a function that makes the request, since it may have to be made again')
      const asked: Asked = { urls: new Set(), underWay: 0, rounds: 0, failure: undefined }
      return await runs.run(asked, async () => await runWithElicitations(services, { call, asked, signal }))
    },
    close () {
      end()
      visits.close(new UrlElicitationError('closed'))
    }
  }
}

function checkElicitation ({ elicitationId: id, url, message }: RawElicitation, loopback: boolean): Checked<Elicitation> {
  const checked = checkUrl(url, loopback)
  return checked.ok ? { ok: true, value: { ...checked.value, id, message: plainText(message, MESSAGE_LENGTH) } } : checked
}

function serverName (client: McpClientLike): string | undefined {
  const { title, name } = { name: undefined, ...client.getServerVersion() }
  return typeof (title ?? name) === 'string' ? plainText((title ?? name)!, NAME_LENGTH) : undefined
}

interface Listeners {
  readonly create: Parameters<typeof onCreate>[1]
  readonly complete: (id: string) => void
  readonly closed: () => void
}

/** @returns what takes it all off again */
function listen (client: McpClientLike, { create, complete, closed }: Listeners): () => void {
  const noLongerCreate = onCreate(client, create)
  const noLongerComplete = onComplete(client, complete)
  const { onclose: before } = client
  const onclose = (): void => {
    closed()
    before?.call(client)
  }
  client.onclose = onclose
  return () => {
    noLongerCreate()
    noLongerComplete()
    if (client.onclose === onclose) client.onclose = before
  }
}
