import Fastify, { type FastifyServerOptions } from 'fastify'
import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { mcpConnect, memoryStore } from '../../lib/index.js'
import { rawRequest } from '../fixtures/raw-request.js'
import { Secrets } from '../fixtures/secrets.js'
import { BASE_URL } from '../fixtures/server.js'

interface Listening {
  readonly code: string
  readonly secrets: Secrets
  /** Everything that was logged, at level trace. */
  readonly log: string[]
  /** Sends a request with this first line, and closes. */
  ask (line: string, headers?: string): Promise<string>
}

/** A host application on a socket of its own: what is wrong with these requests is wrong before anything is injected. */
async function listen (t: Test, options: FastifyServerOptions = {}): Promise<Listening> {
  const secrets = new Secrets()
  const code = randomBytes(32).toString('base64url')
  secrets.add('code', code)
  const log: string[] = []
  const app = Fastify({ ...options, logger: { level: 'trace', stream: { write (line: string) { log.push(line) } } } })
  await app.register(mcpConnect, { baseUrl: BASE_URL, store: memoryStore(), keys: [randomBytes(32).toString('base64')], browser: { identify: () => null }, providers: {} })
  t.teardown(() => app.close())
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  return { code, secrets, log, ask: async (line, headers = '') => await rawRequest(port, `${line}\r\nhost: mcp.example.com\r\nconnection: close\r\n${headers}\r\n`) }
}

const UNREADABLE = ['/connect/callback/%E0%A4%A', '/connect/%', '/connect/callback/acme;%zz', 'http://mcp.example.com/connect/callback/%E0%A4%A']

for (const [host, options] of Object.entries<FastifyServerOptions>({
  'a host without frameworkErrors': {},
  'a host whose frameworkErrors log and repeat everything': {
    frameworkErrors: (error, request, reply) => {
      request.log.error({ err: error, url: request.url }, error.message)
      reply.raw.writeHead(400).end(error.message)
    }
  }
})) {
  t.test(`LOG-03 an address that cannot be decoded, ${host}: neither log nor body repeat it`, async t => {
    const { code, secrets, log, ask } = await listen(t, options)
    for (const path of UNREADABLE) {
      const answer = await ask(`GET ${path}?code=${code}&state=${code} HTTP/1.1`)
      t.match(answer, /^HTTP\/1\.1 404 .*content-security-policy: .*<h1>Nothing here/is, `${path}: a page of ours`)
      t.strictSame(secrets.find(answer), [], path)
    }
    t.ok(log.length > 0)
    t.strictSame(secrets.find(log.join('')), [])
    for (const path of ['/elsewhere', '/connectors', '/']) t.match(await ask(`GET ${path}/%E0%A4%A?code=${code} HTTP/1.1`), `${path}/%E0%A4%A?code=`, 'what is not ours stays the host\'s')
  })
}

t.test('LOG-03 addresses that are too long, and methods that nobody takes', async t => {
  const { code, secrets, log, ask } = await listen(t)
  for (const line of [`GET /connect/callback/${'x'.repeat(200)}?code=${code}`, `GET /connect/${'x'.repeat(200)}?code=${code}`, `PROPFIND /connect/callback/acme?code=${code}`, `TRACE /connect?code=${code}`]) {
    const answer = await ask(`${line} HTTP/1.1`)
    t.match(answer, /^HTTP\/1\.1 404 .*content-security-policy: .*<h1>Nothing here/is, `${line.slice(0, 30)}: a page of ours`)
    t.strictSame(secrets.find(answer), [])
  }
  t.strictSame(secrets.find(log.join('')), [])
})

// Fastify logs these at level trace, with the bytes of the request. A browser with too many cookies is enough.
t.test('LOG-03 requests that are no HTTP, or have too many headers: no byte of them is logged', async t => {
  const { code, secrets, log, ask } = await listen(t)
  const cookie = randomBytes(32).toString('base64url')
  secrets.add('session cookie', cookie)
  const line = `GET /connect/callback/acme?code=${code} HTTP/1.1`
  for (const [headers, status, said] of [
    [`cookie: session=${cookie}; more=${'x'.repeat(20_000)}\r\n`, 431, 'HPE_HEADER_OVERFLOW'],
    [`cookie: session=${cookie}\r\nno header\r\n`, 400, 'HPE_INVALID_HEADER_TOKEN'],
    [`cookie: session=${cookie}\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n`, 400, 'HPE_INVALID_TRANSFER_ENCODING']
  ] as const) {
    log.length = 0
    const answer = await ask(line, headers)
    t.match(answer, `HTTP/1.1 ${status} `)
    t.match(log.join(''), said)
    t.strictSame(secrets.find(`${answer}${log.join('')}`), [], said)
  }
})
