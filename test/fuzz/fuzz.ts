import * as fc from 'fast-check'
import { startWatchdog } from './watchdog.js'

/** Something that takes input of strangers. */
export interface Target<Input = any> {
  readonly name: string
  readonly inputs: fc.Arbitrary<Input>
  /** How many inputs there are in a round. */
  readonly round: number
  /** How much of the time it gets, beside others with 1. */
  readonly share?: number
  open? (): Promise<void>
  /** Before each round. */
  begin? (): Promise<void>
  /** Before each input. */
  prepare? (): Promise<void>
  /** @returns what became of it, to be counted. @throws when something does not hold that must hold for every input */
  try (input: Input): Promise<readonly string[]>
  /** After each round. @throws when something has moved that must not */
  end? (): Promise<void>
  close? (): Promise<void>
}

export interface FuzzOptions {
  /** How long all of it takes. */
  readonly seconds: number
  readonly seed: number
  readonly tell: (line: string) => void
  /** How long one input may take. @default 5000 */
  readonly limitMs?: number
  /** Whether to look for the smallest input that fails. @default true */
  readonly shrink?: boolean
}

/** Each target is tried, however little time there is. */
const SHORTEST_MS = 200
/** For what is done beside the inputs. */
const SLOWEST_MS = 30_000
const BLOCKED_MS = 20_000
const MAX_TOLD = 2000

/** Tries each target for its share of the time. @returns whether everything held */
export async function fuzz (targets: readonly Target[], { seconds, seed, tell, limitMs = 5000, shrink = true }: FuzzOptions): Promise<boolean> {
  const end = Date.now() + seconds * 1000
  const watchdog = startWatchdog(BLOCKED_MS)
  let sound = true
  try {
    for (const [i, target] of targets.entries()) {
      const [share = 1, ...others] = targets.slice(i).map(({ share = 1 }) => share)
      const part = share / others.reduce((sum, other) => sum + other, share)
      sound = await fuzzTarget(target, { until: Date.now() + part * (end - Date.now()), seed, tell, limitMs, shrink, note: watchdog.note }) && sound
    }
  } finally {
    await watchdog.stop()
  }
  return sound
}

interface Run extends Required<Omit<FuzzOptions, 'seconds'>> {
  readonly until: number
  note (text: string): void
}

async function fuzzTarget (target: Target, { until, seed, tell, limitMs, shrink, note }: Run): Promise<boolean> {
  const began = Date.now()
  const outcomes = new Map<string, number>()
  let tried = 0
  let crash: unknown
  const crashed = (error: unknown): void => { crash ??= error ?? 'nothing' }

  async function tryInput (input: unknown): Promise<void> {
    const started = performance.now()
    const became = await within(limitMs, target.try(input))
    const took = performance.now() - started
    if (crash !== undefined) throw new Error(`a crash: ${describe(crash)}`)
    if (took > limitMs) throw new Error(`no end within ${limitMs} ms`)
    for (const one of became ?? []) outcomes.set(one, (outcomes.get(one) ?? 0) + 1)
  }

  /** @returns what went wrong */
  async function runRound (round: number): Promise<string | undefined> {
    let failed = false
    const property = fc.asyncProperty(target.inputs as fc.Arbitrary<unknown>, async input => {
      if (failed) await within(SLOWEST_MS, target.begin?.())            // smaller ones meet what the first one has met
      await within(SLOWEST_MS, target.prepare?.())
      crash = undefined
      note(`${target.name}, seed ${round}: ${fc.stringify(input)}`)
      tried++
      failed = true
      await tryInput(input)
      failed = false
    })
    await within(SLOWEST_MS, target.begin?.())
    const left = Math.max(SHORTEST_MS, until - Date.now())
    const { counterexample, errorInstance } = await fc.check(property, {
      seed: round, numRuns: target.round, interruptAfterTimeLimit: left, endOnFailure: !shrink
    })
    if (counterexample !== null) return `${errorInstance instanceof Error ? errorInstance.message : String(errorInstance)}\n${fc.stringify(counterexample[0]).slice(0, MAX_TOLD)}`
    await within(SLOWEST_MS, target.end?.())
    return undefined
  }

  async function runRounds (): Promise<string | undefined> {
    await within(SLOWEST_MS, target.open?.())
    for (let round = seed; round === seed || Date.now() < until; round++) {
      const problem = await runRound(round).catch(error => `beside the inputs: ${describe(error)}`)
      if (problem !== undefined) return `${problem}\nAgain: npm run test:fuzz -- --seed ${round} --only '${target.name}'`
    }
    return tried === 0 ? 'no input was tried' : undefined
  }

  process.on('uncaughtException', crashed).on('unhandledRejection', crashed)
  try {
    const problem = await runRounds().catch(describe)
    const counts = [...outcomes].sort(([a], [b]) => a < b ? -1 : 1).map(([outcome, count]) => `${count} × ${outcome}`)
    tell(`${target.name}: ${tried} inputs, seed ${seed}, ${((Date.now() - began) / 1000).toFixed(1)} s: ${counts.join(', ')}`)
    if (problem !== undefined) tell(`FAILED: ${problem}`)
    return problem === undefined
  } finally {
    await within(SLOWEST_MS, target.close?.())
    process.off('uncaughtException', crashed).off('unhandledRejection', crashed)
  }
}

/** Waits no longer for what hangs. */
async function within<T> (ms: number, promise: Promise<T> | undefined): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => { timer = setTimeout(() => reject(new Error(`no end within ${ms} ms`)), ms) })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

function describe (error: unknown): string {
  return error instanceof Error ? error.stack ?? error.message : String(error)
}
