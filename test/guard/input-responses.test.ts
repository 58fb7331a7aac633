import t from 'tap'
import { advance, stopClock } from '../fixtures/clock.js'
import { answer, CALLS, CONNECT, isError, issuesServer, linkIn, modernCaller, NOT_FINISHED } from '../fixtures/modern.js'
import { A, A2, B, startServer } from '../fixtures/server.js'

t.test('accept is consent, and says nothing of who is connected', async t => {
  const server = await startServer(t, { waitMs: 0 })
  const { call } = modernCaller(t, A, () => issuesServer(server))
  t.match(await call('tools/call', { name: 'issues', ...answer('accept') }), isError(NOT_FINISHED), 'even of a link that nobody was handed')
  t.match(await call('tools/call', { name: 'both', inputResponses: { 'connect:acme': { action: 'accept' } } }), isError(/^Connecting Acme and Acme is not finished/), 'and of another provider')
})

t.test('INP-13 answers that are none never count as connected, and what stands beside them is ignored', async t => {
  const server = await startServer(t, { waitMs: 0 })
  const { call } = modernCaller(t, A, () => issuesServer(server))
  const link = linkIn(await call('tools/call', { name: 'issues' }))
  for (const inputResponses of [null, [], 7, 'connect:acme', {}, { acme: { action: 'accept' } }, { other: { action: 'accept', content: { token: 'x' } } }, { 'connect:': { action: 'accept' } }]) {
    t.equal(linkIn(await call('tools/call', { name: 'issues', inputResponses })), link, JSON.stringify(inputResponses))
  }
  for (const response of [null, [], 7, 'accept', {}, { action: null }, { action: ['accept'] }, { action: 'ACCEPT' }, { action: 'connected' }, { method: 'elicitation/create', result: { action: 'accept' } }]) {
    t.match(await call('tools/call', { name: 'issues', inputResponses: { 'connect:acme': response } }), isError(CONNECT), JSON.stringify(response))
  }
  for (const beside of [{ content: {} }, { content: { access_token: 'x' } }, { connected: true }]) {
    t.match(await call('tools/call', { name: 'issues', inputResponses: { 'connect:acme': { action: 'accept', ...beside }, more: { action: 'accept' } } }), isError(NOT_FINISHED), JSON.stringify(beside))
  }
  t.strictSame(server.audit.filter(({ event }) => event === 'vault.read'), [])
})

t.test('RQS-09 a link of which the client says nothing is asked for; those that it answered are not asked for again', async t => {
  const server = await startServer(t, { waitMs: 0 })
  const { call } = modernCaller(t, A, () => issuesServer(server))
  await call('tools/call', { name: 'both' })
  const { result } = await call('tools/call', { name: 'both', ...answer('accept') })
  t.match(result, { isError: true, content: [{ text: /not finished yet/ }] })
  const link = linkIn(await call('tools/call', { name: 'issues' }))
  const browser = server.browser(A)
  await browser.get((await server.untilCallback(browser, link)).href)
  const once = await call('tools/call', { name: 'both', ...answer('accept') })
  t.strictSame(Object.keys(once.result!['inputRequests']), ['connect:other'])
})

t.test('REC-19 a client that declines: the text, no new link for a while, and cancel is no decline', async t => {
  const server = await startServer(t)
  const { call } = modernCaller(t, A, () => issuesServer(server))
  stopClock(t)
  const link = linkIn(await call('tools/call', { name: 'issues' }))
  t.match(await call('tools/call', { name: 'issues', ...answer('cancel') }), isError(CONNECT))
  t.equal(linkIn(await call('tools/call', { name: 'issues' })), link, 'the link is as it was')
  t.match(await call('tools/call', { name: 'issues', ...answer('decline') }), isError(CONNECT), 'nobody reads so fast: the client could not show it')
  t.equal(linkIn(await call('tools/call', { name: 'issues' })), link)

  advance(t, 1001)
  t.match(await call('tools/call', { name: 'issues', ...answer('decline') }), isError(/^Connecting Acme was declined\. Do not ask again now\./))
  for (const [method, params] of CALLS) t.match(JSON.stringify(await call(method, params)), /was declined/)
  t.equal(server.audit.filter(({ event }) => event === 'elicitation.declined').length, 1)
  t.match(linkIn(await modernCaller(t, A, () => issuesServer(server), { clientId: 'client-2' }).call('tools/call', { name: 'issues' })), /^https:/, 'another client may ask')
  advance(t, 5 * 60_000)
  t.not(linkIn(await call('tools/call', { name: 'issues' })), link)
})

t.test('REC-19 a client that has answered for one provider has not declined another', async t => {
  const server = await startServer(t)
  const { call } = modernCaller(t, A, () => issuesServer(server))
  await call('tools/call', { name: 'both' })
  advance(t, 1001)
  const { result } = await call('tools/call', { name: 'both', inputResponses: { 'connect:acme': { action: 'accept' }, 'connect:other': { action: 'decline' } } })
  t.match(result, { isError: true, content: [{ text: /^Connecting Acme was declined/ }] })
  t.match((await call('tools/call', { name: 'issues' })).result, { resultType: 'input_required' })
})

t.test('nobody else can answer: neither another user, nor one of another tenant', async t => {
  const server = await startServer(t)
  const { call } = modernCaller(t, A, () => issuesServer(server))
  const link = linkIn(await call('tools/call', { name: 'issues' }))
  advance(t, 1001)
  for (const user of [B, A2]) await modernCaller(t, user, () => issuesServer(server)).call('tools/call', { name: 'issues', ...answer('decline') })
  await modernCaller(t, A, () => issuesServer(server), { clientId: 'client-2' }).call('tools/call', { name: 'issues', ...answer('decline') })
  t.equal(linkIn(await call('tools/call', { name: 'issues' })), link)
})

t.test('RQS-06 the same answers again, once connected: the result, and one token request', async t => {
  const server = await startServer(t)
  const { call } = modernCaller(t, A, () => issuesServer(server))
  const browser = server.browser(A)
  await browser.get((await server.untilCallback(browser, linkIn(await call('tools/call', { name: 'issues' })))).href)
  for (let i = 0; i < 3; i++) t.match(await call('tools/call', { name: 'issues', ...answer('accept') }), { result: { content: [{ text: /rabbit hole/ }] } })
  t.match(await call('tools/call', { name: 'issues', ...answer('decline') }), { result: { content: [{ text: /rabbit hole/ }] } }, 'nor does a late decline undo it')
  t.equal(server.acme.tokenRequests, 1)
})

t.test('REC-01 an answer that never comes costs nothing: the link expires, and the next call gets another', async t => {
  const server = await startServer(t)
  const { call } = modernCaller(t, A, () => issuesServer(server))
  const link = linkIn(await call('tools/call', { name: 'issues' }))
  advance(t, 15 * 60_000)
  t.match(await call('tools/call', { name: 'issues', ...answer('decline') }), isError(CONNECT), 'nor does it count when it comes then')
  t.not(linkIn(await call('tools/call', { name: 'issues' })), link)
})
