import { abortable } from './abortable.js'
import type { Elicitation } from './types.js'

/** How it ended: `completed` is what the server says, `done` what the person says. */
export type Ending = 'completed' | 'done' | 'declined' | 'cancelled' | 'timed_out' | 'not_opened'

export function endedWell (ending: Ending): ending is 'completed' | 'done' {
  return ending === 'completed' || ending === 'done'
}

/** What has ended well since the watch began: of what was under way, and of what is expected besides. */
export interface Watch {
  readonly expected: Set<string>
  readonly ended: ReadonlySet<string>
  stop (): void
}

export interface Visits {
  /** How many elicitations are under way, or wait for their turn. */
  readonly count: number
  /** Leads somebody through an elicitation. One at a time, in the order in which they are asked for; who asks for the same one meanwhile joins in. */
  visit (elicitation: Elicitation, signal?: AbortSignal): Promise<Ending>
  /** `notifications/elicitation/complete`: it may come before anybody waits, for something unknown, and twice. */
  complete (id: string): void
  watch (): Watch
  /** Ends whatever is under way. */
  abort (reason: Error): void
  /** The same for good. */
  close (reason: Error): void
}

interface Visit {
  readonly id: string | undefined
  readonly controller: AbortController
  readonly complete: () => void
  readonly ending: Promise<Ending>
  parties: number
}

/** @param lead Asks, opens and waits; it must do nothing further once its signal is aborted. */
export function createVisits (lead: (elicitation: Elicitation, signal: AbortSignal) => Promise<Ending>): Visits {
  const underWay = new Map<string, Visit>()
  const watches = new Set<{ readonly expected: Set<string>, readonly ended: Set<string> }>()
  const closing = new AbortController()
  let lastTurn: Promise<unknown> = Promise.resolve()

  function begin (key: string, elicitation: Elicitation): Visit {
    const { id } = elicitation
    const controller = new AbortController()
    let complete = (): void => {}
    const completion = new Promise<Ending>(resolve => { complete = () => { resolve('completed') } })
    const before = lastTurn
    const turn = before.then(async () => controller.signal.aborted ? 'cancelled' : await lead(elicitation, controller.signal))
    const ending = abortable(Promise.race([turn, completion]), controller.signal).then(how => {
      if (id !== undefined && endedWell(how)) note(id)
      return how
    }).finally(() => { leave(key, visit) })
    // It may be over before its turn comes.
    lastTurn = Promise.allSettled([before, ending])
    const visit: Visit = { id, controller, complete, ending, parties: 0 }
    underWay.set(key, visit)
    return visit
  }

  function leave (key: string, visit: Visit): void {
    if (underWay.get(key) === visit) underWay.delete(key)
    visit.controller.abort()
  }

  function note (id: string): void {
    const known = [...underWay.values()].some(visit => visit.id === id)
    for (const { expected, ended } of watches) {
      if (known || expected.has(id)) ended.add(id)
    }
  }

  function abort (reason: Error): void {
    for (const { controller } of underWay.values()) controller.abort(reason)
  }

  return {
    get count () { return underWay.size },
    async visit (elicitation, signal) {
      signal?.throwIfAborted()
      closing.signal.throwIfAborted()
      const key = JSON.stringify([elicitation.url, elicitation.id])
      const visit = underWay.get(key) ?? begin(key, elicitation)
      visit.parties += 1
      try {
        return await abortable(visit.ending, signal)
      } finally {
        visit.parties -= 1
        if (visit.parties === 0) leave(key, visit)
      }
    },
    complete (id) {
      note(id)
      for (const visit of underWay.values()) {
        if (visit.id === id) visit.complete()
      }
    },
    watch () {
      const watch = { expected: new Set<string>(), ended: new Set<string>() }
      watches.add(watch)
      return { ...watch, stop: () => { watches.delete(watch) } }
    },
    abort,
    close (reason) {
      closing.abort(reason)
      abort(reason)
    }
  }
}
