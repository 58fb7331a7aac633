/*
 * npm run demo              prints a link and waits for your clicks
 * npm run demo -- --auto    does the clicks itself
 * npm run demo -- --fresh   forgets what earlier runs have left
 * PORT=8080 npm run demo    puts the app on this port
 */
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { isPortTaken } from './ports.js'
import { startDemo, type Demo } from './start.js'
import { tellStory } from './story.js'

const autoTimeoutMs = 60_000
const cleanUpTimeoutMs = 5000
const interactivePort = 3000
const folder = fileURLToPath(new URL('../../.demo', import.meta.url))
const database = join(folder, 'demo.db')

/** Why the demo ends early when a person wants it to. */
export class Interrupted extends Error {}

/**
 * Runs the demo from start to end.
 * @param ending ends it early
 * @returns the exit code
 */
export async function main (args: readonly string[], say: (line: string) => void, ending = new AbortController()): Promise<number> {
  const { signal } = ending
  let timer: NodeJS.Timeout | undefined
  let demo: Demo | undefined
  try {
    const { auto, fresh } = parseArgs({
      args: [...args],
      options: { auto: { type: 'boolean', default: false }, fresh: { type: 'boolean', default: false } }
    }).values
    if (auto) timer = setTimeout(() => { ending.abort(new Error('it took too long')) }, autoTimeoutMs)
    if (fresh) rmSync(folder, { recursive: true, force: true })
    demo = await start(auto)
    await orAborted(tellStory(demo, { auto, signal, say }), signal)
    await demo.close()
    say('\ndemo: ok')
    return 0
  } catch (error) {
    await demo?.close().catch(() => {})
    const cause: unknown = signal.aborted ? signal.reason : error
    const stopped = cause instanceof Interrupted
    say(stopped ? '\ndemo: stopped' : `\ndemo: failed: ${cause instanceof Error ? cause.message : String(cause)}`)
    return stopped ? 0 : 1
  } finally {
    clearTimeout(timer)
  }
}

async function start (auto: boolean): Promise<Demo> {
  const { PORT } = process.env
  const firstRun = !existsSync(database)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (PORT != null) return await startDemo({ database, port: Number(PORT) })
  if (auto || !firstRun) return await startDemo({ database })
  try {
    return await startDemo({ database, port: interactivePort })
  } catch (error) {
    if (!isPortTaken(error)) throw error
    return await startDemo({ database })
  }
}

/** Waits for the work. Once the signal has come, the work gets a little time to end by itself. */
async function orAborted (work: Promise<void>, signal: AbortSignal): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  let onAbort = () => {}
  const limit = new Promise<never>((_resolve, reject) => {
    onAbort = () => { timer = setTimeout(() => { reject(new Error('stopped')) }, cleanUpTimeoutMs) }
    signal.addEventListener('abort', onAbort)
  })
  try {
    if (signal.aborted) onAbort()
    await Promise.race([work, limit])
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const ending = new AbortController()
  const interrupt = () => { ending.abort(new Interrupted()) }
  // Not `once`: a terminal and a script runner may both pass the same Ctrl-C on.
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt)
  process.exitCode = await main(process.argv.slice(2), console.log, ending)
}
