import { UrlElicitationError } from '../errors.js'
import type { Asked, ElicitationServices } from './requests.js'
import { requiredBy, type RawElicitation } from './required.js'
import type { Elicitation } from './types.js'
import { endedWell, type Visits } from './visits.js'

interface Call<T> {
  readonly call: () => Promise<T>
  readonly asked: Asked
  readonly signal: AbortSignal | undefined
}

/**
 * Makes a request, and again after each -32042 whose elicitations have all ended well. Where it fails and what the server itself asked for
 * meanwhile did not end well, that is why.
 * @throws FST_MCP_CONNECT_URL_ELICITATION
 */
export async function runWithElicitations<T> (services: ElicitationServices, { call, asked, signal }: Call<T>): Promise<T> {
  for (let round = 0; ; round += 1) {
    signal?.throwIfAborted()
    const watch = services.visits.watch()
    try {
      const result = await call()
      if (asked.failure !== undefined && isErrorResult(result)) throw asked.failure
      return result
    } catch (error) {
      if (asked.failure !== undefined) throw asked.failure
      const required = requiredBy(error)
      if (required === null) throw error
      const elicitations = checkAll(required, services.check)
      if (elicitations.some(({ url }) => asked.urls.has(url))) throw new UrlElicitationError('repeated')
      if (round === services.rounds) throw new UrlElicitationError('budget_spent')
      for (const { id = '', url } of elicitations) {
        asked.urls.add(url)
        watch.expected.add(id)
      }
      await visitAll(elicitations, services.visits, watch.ended, signal)
    } finally {
      watch.stop()
    }
  }
}

/** How tools fail. (MCP, tools, "Error Handling") */
function isErrorResult (result: unknown): boolean {
  return typeof result === 'object' && result !== null && 'isError' in result && result.isError === true
}

/** All are looked at before the first is shown: with one refused, the request cannot go through. */
function checkAll (required: readonly RawElicitation[], check: ElicitationServices['check']): Elicitation[] {
  if (required.length === 0) throw new UrlElicitationError('malformed')
  return required.map(raw => {
    const checked = check(raw)
    if (!checked.ok) throw new UrlElicitationError('refused_url', checked.refusal)
    return checked.value
  })
}

async function visitAll (elicitations: readonly Elicitation[], visits: Visits, ended: ReadonlySet<string>, signal: AbortSignal | undefined): Promise<void> {
  for (const elicitation of elicitations) {
    // Complete already: as one that two requests asked for, or while another one was waited for.
    if (elicitation.id !== undefined && ended.has(elicitation.id)) continue
    const ending = await visits.visit(elicitation, signal)
    if (!endedWell(ending)) throw new UrlElicitationError(ending)
  }
}
