import { monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks'
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

export interface Pauses {
  /** The longest time, in milliseconds, that the event loop did not get on. */
  readonly longest: number
  /** The longest pause by the garbage collector. */
  readonly garbage: number
  /** The longest time that a thread beside, which has nothing to do, did not get on: what the machine itself takes away. */
  readonly idle: number
}

const IDLE_THREAD = `
  const { monitorEventLoopDelay } = require('node:perf_hooks')
  const { parentPort } = require('node:worker_threads')
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  parentPort.once('message', () => parentPort.postMessage(delay.max / 1e6))
  parentPort.postMessage('ready')`

/** Watches until the returned function is called. */
export async function watchPauses (): Promise<() => Promise<Pauses>> {
  const idle = new Worker(IDLE_THREAD, { eval: true })
  await once(idle, 'message')
  let garbage = 0
  const observer = new PerformanceObserver(list => { garbage = Math.max(garbage, ...list.getEntries().map(({ duration }) => duration)) })
  observer.observe({ entryTypes: ['gc'] })
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  return async () => {
    delay.disable()
    observer.disconnect()
    idle.postMessage('stop')
    const [longestIdle] = await once(idle, 'message')
    await idle.terminate()
    return { longest: delay.max / 1e6, garbage, idle: longestIdle }
  }
}
