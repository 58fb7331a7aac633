import { UrlElicitationError } from '../errors.js'
import { MAX_ELICITATIONS, urlParams, type RawElicitation } from './required.js'
import type { Checked, Elicitation } from './types.js'
import { endedWell, type Ending, type Visits } from './visits.js'

const INVALID_PARAMS = -32602
const INTERNAL_ERROR = -32603

/**
 * Goes to the server as a JSON-RPC error: both SDKs take `code`, `message` and `data` off what a handler throws. Where SDK v2 answers for a call
 * of its own (2026-07-28), that ends with it instead. What is behind it the server does not see: `run` throws that.
 */
class RefusedRequest extends Error {
  readonly code: number
  readonly data: { readonly reason: string } | undefined

  constructor (behind: Error) {
    const ours = behind instanceof UrlElicitationError
    super(ours ? behind.message : 'The client could not ask')
    this.code = ours ? INVALID_PARAMS : INTERNAL_ERROR
    this.data = ours ? { reason: behind.refusal ?? behind.reason } : undefined
  }
}

/** `accept` is no more than that the person agreed; what did not come to an end in time is as if they had gone away. (MCP, elicitation, "Response Actions") */
const ACTIONS: Readonly<Record<Ending, 'accept' | 'decline' | 'cancel'>> = {
  completed: 'accept', done: 'accept', declined: 'decline', cancelled: 'cancel', timed_out: 'cancel', not_opened: 'cancel'
}

/** What elicitations are answered with, whichever way they come. */
export interface ElicitationServices {
  readonly visits: Visits
  /** Whether an elicitation may be shown. */
  readonly check: (elicitation: RawElicitation) => Checked<Elicitation>
  /** How many times one run may ask. */
  readonly rounds: number
}

/** What the server has asked for in one run. */
export interface Asked {
  readonly urls: Set<string>
  /** Requests that are being answered: those that come together are one round. */
  underWay: number
  rounds: number
  /** What did not end well in the latest round. */
  failure: Error | undefined
}

/**
 * Answers one `elicitation/create`; never with content, and in form mode not at all.
 * @param asked of the run that this belongs to, if that is known
 */
export async function answerCreate (services: ElicitationServices, params: unknown, asked: Asked | undefined, signal: AbortSignal | undefined): Promise<{ action: string }> {
  const parsed = urlParams.safeParse(params)
  if (!parsed.success) throw Object.assign(new Error('This client takes elicitation in URL mode only'), { code: INVALID_PARAMS })
  try {
    const ending = await visit(services, parsed.data, asked, signal)
    if (asked !== undefined && !endedWell(ending)) asked.failure ??= new UrlElicitationError(ending)
    return { action: ACTIONS[ending] }
  } catch (error) {
    if (asked !== undefined) asked.failure ??= error as Error
    throw new RefusedRequest(error as Error)
  }
}

async function visit ({ visits, check, rounds }: ElicitationServices, raw: RawElicitation, asked: Asked | undefined, signal: AbortSignal | undefined): Promise<Ending> {
  const checked = check(raw)
  if (!checked.ok) throw new UrlElicitationError('refused_url', checked.refusal)
  if (visits.count >= MAX_ELICITATIONS) throw new UrlElicitationError('budget_spent')
  const leave = asked === undefined ? () => {} : enter(asked, checked.value.url, rounds)
  try {
    return await visits.visit(checked.value, signal)
  } finally {
    leave()
  }
}

/** Counts a request of a run. @returns what is called when it has been answered */
function enter (asked: Asked, url: string, rounds: number): () => void {
  if (asked.urls.has(url)) throw new UrlElicitationError('repeated')
  if (asked.underWay === 0 && asked.rounds === rounds) throw new UrlElicitationError('budget_spent')
  asked.urls.add(url)
  if (asked.underWay === 0) {
    asked.rounds += 1
    asked.failure = undefined
  }
  asked.underWay += 1
  return () => { asked.underWay -= 1 }
}
