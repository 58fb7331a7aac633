import { once } from 'node:events'
import type { LookupAddress } from 'node:dns'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { allowLoopbackHttp } from '../../lib/index.js'
import { createOutboundFetch } from '../../lib/oauth/outbound.js'

const NOT_PUBLIC = { message: 'not_public' }
const strict = { privateHosts: [] }

type Resolve = NonNullable<Parameters<typeof createOutboundFetch>[1]>

/** Looks names up in a list, one entry after the other. */
function answers (t: Test, ...lookups: ReadonlyArray<readonly string[] | Error>): Resolve {
  const left = [...lookups]
  return (hostname, _options, done) => {
    const next = left.shift()
    if (next === undefined) t.fail(`${hostname} is looked up`)
    if (next === undefined || next instanceof Error) done(next ?? new Error(), [])
    else done(null, next.map((address): LookupAddress => ({ address, family: address.includes(':') ? 6 : 4 })))
  }
}

async function listen (t: Test): Promise<{ port: number, requests: string[] }> {
  const requests: string[] = []
  const server = createServer((request, response) => {
    requests.push(`${request.url}`)
    const [, status] = /^\/status\/(\d+)$/.exec(`${request.url}`) ?? []
    if (status !== undefined) response.writeHead(Number(status)).end()
    else if (request.url !== '/never') response.end('ok')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => { server.close(); server.closeAllConnections() })
  return { port: (server.address() as AddressInfo).port, requests }
}

t.test('OAR-28 an address in the place of a name is checked, however it is spelled, and nothing is sent', async t => {
  for (const host of ['127.0.0.1', '127.1', '0x7f000001', '2130706433', '017700000001', '10.0.0.1', '169.254.169.254', '0.0.0.0', '[::1]', '[fd00::1]',
    '[::ffff:a9fe:a9fe]', '[::ffff:127.0.0.1]', '[fe80::1]', '127.0.0.1.']) {
    await t.rejects(createOutboundFetch(strict, answers(t))(`https://${host}/`, {}), NOT_PUBLIC, host)
  }
  const { port, requests } = await listen(t)
  for (const url of [`http://127.0.0.1:${port}/`, 'http://acme.example/', 'ftp://acme.example/']) {
    await t.rejects(createOutboundFetch(strict, answers(t))(url, {}), { message: 'not_https' }, url)
  }
  t.strictSame(requests, [])
})

t.test('OAR-28 a name may lead to public addresses alone, all of them', async t => {
  for (const addresses of [['10.0.0.1'], ['127.0.0.1'], ['93.184.215.14', '10.0.0.1'], ['10.0.0.1', '93.184.215.14'], ['::ffff:10.0.0.1'], []]) {
    await t.rejects(createOutboundFetch(strict, answers(t, addresses))('https://acme.example/', {}), NOT_PUBLIC, addresses.join())
  }
  const unknown = await createOutboundFetch(strict, answers(t, Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })))('https://acme.example/', {}).catch(error => error)
  t.match(unknown, { cause: { code: 'ENOTFOUND' } })
})

t.test('OAR-29 the address that was checked is the one that is connected to, for each request anew', async t => {
  const { port, requests } = await listen(t)
  const onLoopback = { privateHosts: [], [allowLoopbackHttp]: true }
  const fetch = createOutboundFetch(onLoopback, answers(t, ['127.0.0.1'], ['10.0.0.1'], ['127.0.0.1']))
  const url = `http://localhost:${port}/`
  t.equal(await (await fetch(url, {})).text(), 'ok')
  await t.rejects(fetch(url, {}), NOT_PUBLIC, 'another address by now')
  t.equal(await (await fetch(url, {})).text(), 'ok')
  t.strictSame(requests, ['/', '/'])
})

t.test('a host that is known to be private can be connected to', async t => {
  const { port } = await listen(t)
  const fetch = createOutboundFetch({ privateHosts: ['localhost'] }, answers(t, ['127.0.0.1']))
  const error = await fetch(`https://localhost:${port}/`, {}).catch(error => error)
  t.match(error.cause?.code, /SSL|EPROTO/, 'it gets as far as TLS, which this server does not have')
})

t.test('an answer of a kind that has no body is one all the same', async t => {
  const { port } = await listen(t)
  const fetch = createOutboundFetch({ privateHosts: [], [allowLoopbackHttp]: true }, answers(t, ['127.0.0.1'], ['127.0.0.1'], ['127.0.0.1']))
  for (const status of [204, 205, 304]) t.equal((await fetch(`http://localhost:${port}/status/${status}`, {})).status, status)
})

t.test('a request ends after ten seconds, though its caller has more patience', async t => {
  const { port, requests } = await listen(t)
  // The library connects once more after that, and sends nothing.
  const fetch = createOutboundFetch({ privateHosts: [], [allowLoopbackHttp]: true }, (_hostname, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }]))
  const { timeout } = AbortSignal
  const limits: number[] = []
  t.intercept(AbortSignal, 'timeout', { value: (ms: number) => { limits.push(ms); return timeout.call(AbortSignal, ms / 100) } })
  const controller = new AbortController()
  const patience = setTimeout(() => controller.abort(new Error('given up')), 5000)
  await t.rejects(fetch(`http://localhost:${port}/never`, { signal: controller.signal }), { name: 'TimeoutError' })
  clearTimeout(patience)
  t.strictSame(limits, [10_000])
  t.strictSame(requests, ['/never'])
})

t.test('a request ends when its caller gives up', async t => {
  const { port } = await listen(t)
  const fetch = createOutboundFetch({ privateHosts: [], [allowLoopbackHttp]: true }, answers(t, ['127.0.0.1']))
  const controller = new AbortController()
  const request = fetch(`http://localhost:${port}/never`, { signal: controller.signal })
  controller.abort(new Error('given up'))
  await t.rejects(request, { message: 'given up' })
})
