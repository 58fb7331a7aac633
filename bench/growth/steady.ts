import { setTimeout } from 'node:timers/promises'
import type { Store } from '../../lib/index.js'
import { HOUR_MS, randomValue, STATE_LENGTH, stateKey } from './records.js'

const PER_SECOND = 500
const GARBAGE_BYTES = 50_000

/** Creates records at the pace of a busy server. Each comes with what serving a request leaves behind for the garbage collector. */
export async function createSteadily ({ state }: Store, seconds: number): Promise<void> {
  const begun = performance.now()
  for (let i = 0; i < PER_SECOND * seconds; i++) {
    await setTimeout(begun + i / PER_SECOND * 1000 - performance.now())
    leaveGarbage()
    await state.put(stateKey('steady', i), randomValue(STATE_LENGTH), null, HOUR_MS)
  }
}

function leaveGarbage (): void {
  for (let left = GARBAGE_BYTES; left > 0; left -= 100) JSON.parse('{"a":[1,2,3]}')
}
