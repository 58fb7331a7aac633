import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Ways } from './fake-quirks.js'
import { answer } from './fake-requests.js'

/** Where something can be made to happen. */
export type FakeEndpoint = 'authorization' | 'exchange' | 'refresh' | 'revocation' | 'identity' | 'api'

/**
 * What can be made to happen: `dead` and `misregistered` are refusals by the codes of the quirks; `unavailable` is status 503, and
 * `limited` 429, with `Retry-After`; `broken` is a page with status 500, `garbage` one with 200; `hang` never answers; `drop` breaks the
 * connection before anything is done, `lose` once all is done, so that the answer is lost.
 */
export type FakeOutcome = 'dead' | 'misregistered' | 'unavailable' | 'limited' | 'broken' | 'garbage' | 'hang' | 'drop' | 'lose'

export interface FakeScript {
  add (at: FakeEndpoint, outcome: FakeOutcome, times: number): void
  take (at: FakeEndpoint): FakeOutcome | undefined
}

export function createFakeScript (): FakeScript {
  const planned = new Map<FakeEndpoint, FakeOutcome[]>()
  return {
    add (at, outcome, times) {
      planned.set(at, [...planned.get(at) ?? [], ...Array<FakeOutcome>(times).fill(outcome)])
    },
    take: at => planned.get(at)?.shift()
  }
}

/** Refuses in the way of this provider. */
export function refuse (response: ServerResponse, ways: Ways, code: string, status = ways.errorStatus): void {
  answer(response, { ...ways.errorMembers, [ways.errorMember]: code, error_description: `the fake provider refuses: ${code}` }, status)
}

/** Plays an outcome that keeps the endpoint from doing anything. */
export function play (outcome: Exclude<FakeOutcome, 'lose'>, request: IncomingMessage, response: ServerResponse, ways: Ways): void {
  const retryAfter = { 'retry-after': String(ways.retryAfterSeconds) }
  const page = (status: number): void => { response.writeHead(status, { 'content-type': 'text/html' }).end('<p>The fake provider is not well.') }
  switch (outcome) {
    case 'dead':
    case 'misregistered': return refuse(response, ways, ways.errorCodes[outcome])
    case 'unavailable': return answer(response, { error: 'temporarily_unavailable' }, 503, retryAfter)
    case 'limited': return answer(response, { error: 'rate_limited' }, 429, retryAfter)
    case 'broken': return page(500)
    case 'garbage': return page(200)
    case 'drop': request.socket.destroy()
    // hang: the connection stays open until the fake is closed
  }
}
