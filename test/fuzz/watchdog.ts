import { Worker } from 'node:worker_threads'

const MAX_BYTES = 8192

/** A thread that is blocked cannot tell, so another one does, and ends the process. */
export interface Watchdog {
  /** Says what is being done. */
  note (text: string): void
  stop (): Promise<void>
}

const WATCH = `
const { workerData: { beat, note, limitMs } } = require('node:worker_threads')
setInterval(() => {
  if (Date.now() - Number(beat[0]) < limitMs) return
  const text = Buffer.from(note).toString('utf8').split('\\0')[0]
  require('node:fs').writeSync(1, 'fuzz: blocked for ' + limitMs / 1000 + ' s by\\n' + text + '\\n')
  process.kill(process.pid, 'SIGKILL')
}, limitMs / 10)
`

/** @param limitMs so long the event loop may stand still */
export function startWatchdog (limitMs: number): Watchdog {
  const beat = new BigInt64Array(new SharedArrayBuffer(8))
  const note = Buffer.from(new SharedArrayBuffer(MAX_BYTES))
  const goOn = (): void => { beat[0] = BigInt(Date.now()) }
  goOn()
  const timer = setInterval(goOn, limitMs / 10)
  const worker = new Worker(WATCH, { eval: true, execArgv: [], workerData: { beat, note, limitMs } })
  worker.unref()
  return {
    note (text) {
      goOn()
      note[note.write(text.slice(0, MAX_BYTES / 4))] = 0
    },
    async stop () {
      clearInterval(timer)
      await worker.terminate()
    }
  }
}
