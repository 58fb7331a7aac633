/*
 * How each store does with many live records, beside one with 1,000. Exits with 1 when an operation does not stay flat.
 *
 *   npm run bench:growth -- --stores memory,sqlite,redis,postgres --size 1000000
 */
import { parseArgs } from 'node:util'
import { awaitRemoval, measureSweeps } from './growth/expiry.js'
import { holdSweeperOf } from './growth/held-sweeper.js'
import { openMemory } from './growth/memory.js'
import { measureOperations, median, type Times } from './growth/operations.js'
import { watchPauses, type Pauses } from './growth/pauses.js'
import { openPostgresSchema } from './growth/postgres.js'
import { STATE_LENGTH, VAULT_LENGTH } from './growth/records.js'
import { openRedisPrefix } from './growth/redis.js'
import { openSqliteFile } from './growth/sqlite.js'
import { createSteadily } from './growth/steady.js'
import type { Storage } from './growth/storage.js'

const SMALL = 1000
/**
 * Trees get a level or two deeper from a thousand to a million, and neither the processor's caches nor those of a database hold
 * all any more: that is a factor of 2 or so; up to 4 on a busy machine. What grows with the number of records is slower by far
 * more than 5, even in the short form.
 */
const LARGEST_RATIO = 5
/** Below this many microseconds more, it is the caches of the processor alone: a memory access costs a tenth of one. */
const SMALLEST_DIFFERENCE_US = 10
/** How much more room a table may take that was emptied by expiry and filled again. */
const LARGEST_REUSE = 1.2
const STEADY_SECONDS = 20
/** The garbage collector has little to do with less. */
const STEADY_SIZE = 100_000

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

const OPEN: Readonly<Record<string, () => Promise<Storage>>> = {
  memory: openMemory, sqlite: openSqliteFile, redis: openRedisPrefix, postgres: openPostgresSchema
}

const { values: { stores, size: sizeText } } = parseArgs({
  options: { stores: { type: 'string', default: Object.keys(OPEN).join() }, size: { type: 'string', default: '1000000' } }
})
const size = Number(sizeText)
let failed = false

const count = (value: number): string => value.toLocaleString('en')
const tell = (text: string): void => console.log(text)
const tellPauses = (when: string, { longest, garbage, idle }: Pauses): void => {
  tell(`  longest pause ${when}: ${longest.toFixed(1)} ms, of the garbage collector ${garbage.toFixed(1)} ms, of an idle thread beside ${idle.toFixed(1)} ms`)
}

async function fill (storage: Storage, size: number): Promise<void> {
  await storage.fillState(size)
  await storage.fillVault(size)
  await storage.settle()
}

async function fillAndTell (name: string, storage: Storage): Promise<void> {
  const empty = await storage.bytes()
  const [withState, statePauses] = await fillPart(storage, () => storage.fillState(size))
  const [withBoth, vaultPauses] = await fillPart(storage, () => storage.fillVault(size))
  await storage.settle()
  const [record, grant] = [(withState - empty) / size, (withBoth - withState) / size]
  tell(`  bytes: ${record.toFixed(0)} a record, ${(record - STATE_LENGTH).toFixed(0)} of them beside the value; ` +
    `${grant.toFixed(0)} a grant, ${(grant - VAULT_LENGTH).toFixed(0)} of them beside the value`)
  if (name !== 'memory') return     // a bulk fill, as no server does it
  tellPauses('of filling records, as fast as can be', statePauses)
  tellPauses('of filling grants, as fast as can be', vaultPauses)
}

async function fillPart (storage: Storage, fill: () => Promise<void>): Promise<[bytes: number, pauses: Pauses]> {
  const end = await watchPauses()
  await fill()
  const pauses = await end()
  return [await storage.bytes(), pauses]
}

function tellTimes (small: Times, large: Times): void {
  tell(`  ${'operation'.padEnd(34)}${`µs at ${count(SMALL)}`.padStart(14)}${`µs at ${count(size)}`.padStart(16)}${'ratio'.padStart(8)}`)
  for (const [operation, times] of large) {
    const [before, after] = [median(small.get(operation)!), median(times)]
    const ratio = after / before
    const grows = ratio > LARGEST_RATIO && after - before > SMALLEST_DIFFERENCE_US
    failed ||= grows
    tell(`  ${operation.padEnd(34)}${before.toFixed(1).padStart(14)}${after.toFixed(1).padStart(16)}${ratio.toFixed(2).padStart(8)}${grows ? ' GROWS' : ''}`)
  }
}

/** Room that expired records leave must be used again. */
async function measureReuse (storage: Storage, sweep: () => Promise<unknown>): Promise<void> {
  const megabytes: number[] = []
  const weigh = async (): Promise<void> => {
    await storage.settle()
    megabytes.push(Math.round(await storage.bytes() / 1e6))
  }
  for (let cycle = 0; cycle < 2; cycle++) {
    await storage.addExpired(size)
    await weigh()
    await sweep()
    await weigh()
  }
  const [full, swept, again, sweptAgain] = megabytes as [number, number, number, number]
  tell(`  size with ${count(size)} expired records: ${full} MB, swept and vacuumed ${swept}, filled again ${again}, swept again ${sweptAgain}`)
  if (again > full * LARGEST_REUSE) failed = true
}

async function measureStore (name: string, open: () => Promise<Storage>): Promise<void> {
  tell(`\n${name}`)
  const [small, large] = [await open(), await open()]
  let closing: Promise<unknown> | undefined
  const close = async (): Promise<void> => {
    closing ??= Promise.allSettled([small.close(), large.close()])
    await closing
  }
  const interrupted = (): void => { close().finally(() => process.exit(1)) }
  for (const signal of SIGNALS) process.once(signal, interrupted)
  try {
    const filled = [{ storage: small, size: SMALL }, { storage: large, size }]
    const held = name === 'redis' ? [] : await Promise.all(filled.map(async one => ({ ...one, sweeper: await holdSweeperOf(one.storage) })))
    if (name === 'postgres') await measureReuse(large, () => held[1]!.sweeper.sweep())
    await fill(small, SMALL)
    await fillAndTell(name, large)
    if (name === 'memory' && size >= STEADY_SIZE) {
      const end = await watchPauses()
      await createSteadily(large.store, STEADY_SECONDS)
      tellPauses('at the pace of a server', await end())
    }

    const endOperations = await watchPauses()
    const [smallTimes, largeTimes] = await measureOperations(filled) as [Times, Times]
    const operationPauses = await endOperations()
    if (name === 'redis') {
      tell(`  ${count(size / 2)} records that expire at once: ${(await awaitRemoval(filled[1]!) / 1000).toFixed(1)} s until all are written and Redis has removed most`)
    } else {
      const [smallExpiry, largeExpiry] = await measureSweeps(held)
      for (const [operation, times] of smallExpiry!.times) smallTimes.set(operation, times)
      for (const [operation, times] of largeExpiry!.times) largeTimes.set(operation, times)
      tell(`  longest slice of a removal: ${largeExpiry!.longestSlice.toFixed(1)} ms`)
    }
    tellPauses('of the operations', operationPauses)
    tellTimes(smallTimes, largeTimes)
  } finally {
    for (const signal of SIGNALS) process.off(signal, interrupted)
    await close()
  }
}

tell(`Node ${process.version}, ${count(size)} records and as many grants`)
for (const name of stores.split(',')) {
  const open = OPEN[name]
  if (open === undefined) throw new Error(`There is no store ${name}; there are ${Object.keys(OPEN).join(', ')}`)
  await measureStore(name, open)
}
process.exitCode = failed ? 1 : 0
