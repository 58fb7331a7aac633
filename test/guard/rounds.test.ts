import { getEventListeners, setMaxListeners } from 'node:events'
import t from 'tap'
import { createCompletion } from '../../lib/elicitation/completion.js'
import type { Current, Link } from '../../lib/elicitation/elicitations.js'
import type { GuardedCall, Round } from '../../lib/guard/guarded-call.js'
import type { Needed } from '../../lib/guard/links.js'
import { conclude, type RoundServices } from '../../lib/guard/rounds.js'
import { waitFor } from '../../lib/guard/waiting.js'
import { memoryStore } from '../../lib/index.js'

const principal = { issuer: 'https://login.example.com', subject: 'a' }
const link: Link = { id: 'id', generation: 0, expiresAt: Date.now() + 60_000 }
const needed = { key: 'acme', provider: { issuer: 'https://acme.example' }, found: { kind: 'none', revision: null } } as unknown as Needed

const timers = (): number => process.getActiveResourcesInfo().filter(kind => kind === 'Timeout').length

t.test('10,000 waits that are given up leave no timer and no listener, and are told nothing', async t => {
  const completion = await createCompletion(memoryStore().bus, error => { throw error })
  t.teardown(() => completion.close())
  let watching = 0
  const closing = new AbortController()
  setMaxListeners(0, closing.signal)
  const services = {
    waitMs: 45_000,
    closing: closing.signal,
    connections: { look: async () => needed.found },
    elicitations: { current: async () => ({ kind: 'live', link, askedAt: 0 }), isLive: async () => true },
    completion: {
      ...completion,
      watch (...args: Parameters<typeof completion.watch>) {
        watching++
        const giveUp = completion.watch(...args)
        return () => { watching--; giveUp() }
      }
    }
  } as unknown as RoundServices
  const before = timers()
  const cancelled = new AbortController()
  setMaxListeners(0, cancelled.signal)
  const round: Round = { answers: new Map([['acme', 'accept']]), signal: cancelled.signal, progress: async () => {} }
  const call = { clientId: 'client', manifest: { client: {} }, round } as unknown as GuardedCall
  const waits = Array.from({ length: 10_000 }, () => conclude(services, principal, call, round, [needed]))
  await new Promise(resolve => setImmediate(resolve))
  t.equal(watching, 10_000)
  t.equal(timers(), before + 20_000, 'each has its time, and its progress')
  for (const { signal } of [cancelled, closing]) t.equal(getEventListeners(signal, 'abort').length, 10_000)
  cancelled.abort()
  t.ok((await Promise.all(waits)).every(({ kind }) => kind === 'waited'))
  t.equal(timers(), before)
  t.equal(watching, 0)
  for (const { signal } of [cancelled, closing]) t.equal(getEventListeners(signal, 'abort').length, 0)
})

const settled = async (): Promise<void> => await new Promise(resolve => setImmediate(resolve))

t.test('a wait ends with what is waited for, with its time, or with a signal, also one that was aborted before', async t => {
  const never = new Promise(() => {})
  const { signal } = new AbortController()
  const before = timers()
  await waitFor(Promise.resolve(), 45_000, [signal], null)
  await waitFor(never, 1, [signal], null)
  const aborted = waitFor(never, 45_000, [signal, AbortSignal.abort()], null)
  await settled()
  t.equal(timers(), before)
  await aborted
  await t.rejects(waitFor(Promise.reject(new Error('the store is down')), 45_000, [signal], null), { message: 'the store is down' })
  t.equal(getEventListeners(signal, 'abort').length, 0)
})

/** What a call waits with, whose link is as told. */
function waiting ({ current, isLive = true }: { current: () => Promise<Current>, isLive?: boolean }): { wait: () => Promise<unknown>, cancel: () => void, watched: () => number } {
  const cancelled = new AbortController()
  let watched = 0
  const services = {
    waitMs: 45_000,
    closing: new AbortController().signal,
    connections: { look: async () => needed.found },
    elicitations: { current, isLive: async () => isLive },
    completion: { watch: () => { watched++; return () => {} } }
  } as unknown as RoundServices
  const round: Round = { answers: new Map([['acme', 'accept']]), signal: cancelled.signal, progress: null }
  const call = { clientId: 'client', manifest: { client: {} }, round } as unknown as GuardedCall
  return { wait: async () => await conclude(services, principal, call, round, [needed]), cancel: () => cancelled.abort(), watched: () => watched }
}

t.test('what has ended by the time in which it is watched is not waited for', async t => {
  const before = timers()
  const { wait, watched } = waiting({ current: async () => ({ kind: 'live', link, askedAt: 0 }), isLive: false })
  const waited = wait()
  await settled()
  t.equal(timers(), before)
  t.match(await waited, { kind: 'waited' })
  t.equal(watched(), 1)
})

t.test('a link that is found after the wait has ended is not watched', async t => {
  let find = (_current: Current): void => {}
  const slow = new Promise<Current>(resolve => { find = resolve })
  const looks = [slow]
  const { wait, cancel, watched } = waiting({ current: async () => await (looks.shift() ?? { kind: 'none' }) })
  const waited = wait()
  cancel()
  t.match(await waited, { kind: 'waited' })
  find({ kind: 'live', link, askedAt: 0 })
  await settled()
  t.equal(watched(), 0)
})
