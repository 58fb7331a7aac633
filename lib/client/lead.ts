import { setTimeout } from 'node:timers/promises'
import { ClientOptionsError } from '../errors.js'
import type { ClientSettings } from './options.js'
import type { Elicitation, UrlRequest } from './types.js'
import type { Ending } from './visits.js'

/** Asks the person, opens, and waits. Nothing is opened without a yes, or after the signal is aborted. */
export async function lead ({ id, ...shown }: Elicitation, server: string | undefined, settings: ClientSettings, signal: AbortSignal): Promise<Ending> {
  const request: UrlRequest = Object.freeze({ ...shown, server })
  const answer: unknown = await settings.consent(request, { signal })
  if (answer === 'decline') return 'declined'
  if (answer === 'cancel' || signal.aborted) return 'cancelled'
  if (answer !== 'open') throw new ClientOptionsError("consent must answer 'open', 'decline' or 'cancel'")
  try {
    await settings.open(request.url)
  } catch {
    return 'not_opened'                           // what was thrown may hold the URL
  }
  return await wait(request, id, settings, signal)
}

async function wait (request: UrlRequest, id: string | undefined, { done, timeoutMs }: ClientSettings, signal: AbortSignal): Promise<Ending> {
  // Nobody will say so: it is up to the server, which is told that the person agreed (MCP 2026-07-28, elicitation).
  if (id === undefined && done === undefined) return 'done'
  const endings: Array<Promise<Ending>> = [setTimeout(timeoutMs, 'timed_out' as const, { signal })]
  if (done !== undefined) endings.push((async () => await done(request, { signal }))().then(() => 'done', () => 'cancelled'))
  return await Promise.race(endings)
}
