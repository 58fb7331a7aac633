import { randomBytes } from 'node:crypto'
import { getEventListeners, setMaxListeners } from 'node:events'
import t, { type Test } from 'tap'
import { answer, CALLS, directCaller, isError, issuesServer, linkIn, modernCaller, NOT_FINISHED } from '../fixtures/modern.js'
import { A, startServer, type TestServer } from '../fixtures/server.js'
import { mockTimers } from '../fixtures/timers.js'

/** Fulfilled once a call that comes next has looked at the vault a second time: from then on it waits. */
async function untilWaiting (t: Test, { store }: TestServer): Promise<void> {
  const { get } = store.vault
  let looks = 0
  await new Promise<void>(resolve => {
    t.intercept(store.vault, 'get', {
      value: async (...args: Parameters<typeof get>) => {
        const stored = await get(...args)
        if (++looks === 2) setImmediate(resolve)
        return stored
      }
    })
  })
}

/** Lets what is going on go on until something is so. */
async function until (isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise(resolve => setImmediate(resolve))
}

t.test('RQS-11 accept, before the user has finished: a bounded wait, and no further row', async t => {
  const server = await startServer(t, { waitMs: 50 })
  const keys = new Set<string>()
  const { call } = modernCaller(t, A, () => issuesServer(server))
  const link = linkIn(await call('tools/call', { name: 'issues' }))
  const { put } = server.store.state
  t.intercept(server.store.state, 'put', { value: async (...args: Parameters<typeof put>) => { keys.add(args[0]); return await put(...args) } })
  t.match(await call('tools/call', { name: 'issues', ...answer('accept') }), isError(NOT_FINISHED))
  for (const [method, params] of CALLS.slice(1)) t.match(await call(method, { ...params, ...answer('accept') }), { error: { code: -31042, message: NOT_FINISHED } })
  t.strictSame([...keys], [])
  t.equal(linkIn(await call('tools/call', { name: 'issues' })), link, 'a later call gets the same')
})

t.test('the call goes on as soon as the user has finished, at whichever instance', async t => {
  const keys = [randomBytes(32).toString('base64')]
  const server = await startServer(t, { keys, waitMs: 45_000 })
  const other = await startServer(t, { keys, at: server.acme, store: server.store })
  const { call } = modernCaller(t, A, () => issuesServer(server))
  const browser = other.browser(A)
  const callback = await other.untilCallback(browser, linkIn(await call('tools/call', { name: 'issues' })))
  const waits = untilWaiting(t, server)
  const waiting = call('tools/call', { name: 'issues', ...answer('accept') })
  await waits
  const startedAt = Date.now()
  await browser.get(callback.href)
  t.match(await waiting, { result: { content: [{ text: /rabbit hole/ }], resultType: 'complete' } })
  t.ok(Date.now() - startedAt < 30_000, 'it was told')
})

t.test('one of two providers is not enough, and the second is waited for', async t => {
  const server = await startServer(t)
  const { call } = modernCaller(t, A, () => issuesServer(server))
  const { result } = await call('tools/call', { name: 'both' })
  const links = Object.values<any>(result!['inputRequests']).map(({ params }) => params.url as string)
  const browser = server.browser(A)
  const waiting = call('tools/call', { name: 'both', inputResponses: { 'connect:acme': { action: 'accept' }, 'connect:other': { action: 'accept' } } })
  for (const link of links) await browser.get((await server.untilCallback(browser, link)).href)
  t.match(await waiting, { result: { content: [{ text: 'both' }] } })
})

t.test('the call ends when the user declines on the page, and says so', async t => {
  const server = await startServer(t)
  const { call } = modernCaller(t, A, () => issuesServer(server))
  const link = linkIn(await call('tools/call', { name: 'issues' }))
  const waits = untilWaiting(t, server)
  const waiting = call('tools/call', { name: 'issues', ...answer('accept') })
  await waits
  await server.browser(A).press(link, '/decline')
  t.match(await waiting, isError(/^Connecting Acme was declined\. Do not ask again now\./))
  t.match(await call('tools/call', { name: 'issues' }), isError(/was declined/), 'nor is the user asked again soon')
})

t.test('shutdown ends what waits, at once and with the text', async t => {
  const server = await startServer(t, { waitMs: 45_000 })
  const { call } = modernCaller(t, A, () => issuesServer(server))
  await call('tools/call', { name: 'issues' })
  const waits = untilWaiting(t, server)
  const waiting = call('tools/call', { name: 'issues', ...answer('accept') })
  await waits
  const startedAt = Date.now()
  await Promise.all([server.app.close(), waiting])
  t.match(await waiting, isError(NOT_FINISHED))
  t.ok(Date.now() - startedAt < 30_000)
})

t.test('calls that are cancelled wait no longer, and leave no timer and no listener', async t => {
  const server = await startServer(t)
  const call = directCaller(server)
  await call({})
  const timers = (): number => process.getActiveResourcesInfo().filter(kind => kind === 'Timeout').length
  const before = timers()
  const warnings: Error[] = []
  const warned = (warning: Error): void => { warnings.push(warning) }
  process.on('warning', warned)
  t.teardown(() => process.off('warning', warned))
  const cancelled = new AbortController()
  setMaxListeners(0, cancelled.signal)
  const waits = Array.from({ length: 20 }, () => call({ ...answer('accept'), signal: cancelled.signal }))
  await until(() => getEventListeners(cancelled.signal, 'abort').length === 20)
  t.equal(timers(), before + 20, 'each has its time')
  cancelled.abort()
  t.ok((await Promise.allSettled(waits)).every(({ status }) => status === 'rejected'))
  t.equal(getEventListeners(cancelled.signal, 'abort').length, 0)
  t.equal(timers(), before)
  t.strictSame(warnings, [], 'nor does the signal that they share complain')
})

t.test('a client that asks for progress hears every ten seconds that its call is alive', async t => {
  const server = await startServer(t, { waitMs: 35_000 })
  const call = directCaller(server)
  await call({})
  const clock = mockTimers(t)
  const told: unknown[] = []
  const waiting = call({ ...answer('accept'), _meta: { progressToken: 'p' }, notify: async (notification: unknown) => { told.push(notification) } }).catch(error => error)
  const silent = call({ ...answer('accept'), notify: async () => { told.push('without having been asked') } }).catch(error => error)
  const deaf = call({ ...answer('accept'), _meta: { progressToken: 1 }, notify: async () => { throw new Error('the stream is gone') } }).catch(error => error)
  await until(() => clock.count() === 5)
  clock.tick(34_999)
  t.strictSame(told, [10, 20, 30].map(progress => ({
    method: 'notifications/progress', params: { progressToken: 'p', progress, message: 'Waiting for the user, in the browser' }
  })))
  clock.tick(1)
  t.match(await waiting, { code: -31042, message: /not finished/ })
  t.match(await Promise.all([silent, deaf]), [{ code: -31042 }, { code: -31042 }], 'one that cannot be told goes on, too')
  t.equal(told.length, 3)
})

t.test('a store that fails while a call waits: the text says to try again', async t => {
  const server = await startServer(t, { waitMs: 0 })
  const { call } = modernCaller(t, A, () => issuesServer(server))
  await call('tools/call', { name: 'issues' })
  t.intercept(server.store.state, 'get', { value: async () => { throw new Error('down') } })
  t.match(await call('tools/call', { name: 'issues', ...answer('accept') }), isError(/could not be looked up/))
})
