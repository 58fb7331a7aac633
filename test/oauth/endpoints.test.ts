import dns from 'node:dns'
import { Socket } from 'node:net'
import { generateKeyPair, SignJWT } from 'jose'
import * as client from 'openid-client'
import t, { type Test } from 'tap'
import { allowLoopbackHttp, defineProvider } from '../../lib/index.js'
import { readUser } from '../../lib/oauth/claims.js'
import { createConfigurations } from '../../lib/oauth/configuration.js'
import { createOutboundFetch } from '../../lib/oauth/outbound.js'
import { redeemCode, type Tokens } from '../../lib/oauth/token-request.js'
import type { Registration } from '../../lib/types.js'
import { startScriptedProvider } from '../fixtures/scripted-provider.js'
import { Secrets } from '../fixtures/secrets.js'

const STATE = 's'.repeat(43)

/** Names that lead to this machine, to a private network, or to the metadata service of a cloud. */
const NAMES: Readonly<Record<string, string>> = {
  localhost: '127.0.0.1', 'localhost.': '127.0.0.1', 'acme.localhost': '::1', 'intranet.example': '10.0.0.1', 'metadata.google.internal': '169.254.169.254', 'mapped.example': '::ffff:a9fe:a9fe'
}
const HOSTS = ['127.1', '0x7f000001', '2130706433', '017700000001', '[::1]', '[::ffff:a9fe:a9fe]', '[::ffff:127.0.0.1]', '169.254.169.254', '10.0.0.1', '172.16.0.1', '192.168.0.1', '100.64.0.1',
  '[fc00::1]', '[fe80::1]', '[64:ff9b::7f00:1]', '0.0.0.0', '[::]', ...Object.keys(NAMES)]
const ADDRESSES = [...HOSTS.map(host => `https://${host}`), 'http://acme.example', 'http://127.0.0.1', 'http://localhost']

/** Notes every address that a socket tries to connect to, and has the names lead where they do. */
function watchSockets (t: Test): string[] {
  const attempts: string[] = []
  const { emit } = Socket.prototype
  t.intercept(Socket.prototype, 'emit', {
    value (this: Socket, event: string, ...args: unknown[]) {
      if (event === 'connectionAttempt') attempts.push(String(args[0]))
      return Reflect.apply(emit, this, [event, ...args]) as boolean
    }
  })
  t.intercept(dns, 'lookup', {
    value: (hostname: string, _options: unknown, done: (error: Error | null, addresses: dns.LookupAddress[]) => void) => {
      const address = NAMES[hostname]
      if (address === undefined) return done(new Error(`${hostname} is looked up`), [])
      done(null, [{ address, family: address.includes(':') ? 6 : 4 }])
    }
  })
  return attempts
}

/** A registration that was not checked when it was made: as if a checked name had led elsewhere by now. */
function registration (issuer: string, change: Partial<Registration> = {}): Registration {
  const checked = defineProvider({ name: 'Acme', issuer: 'https://acme.example', clientId: 'id', clientSecret: 'client-secret', apiOrigins: ['https://api.acme.example'] })
  return { ...checked, issuer, ...change }
}

t.test('OAR-28 no request for metadata, tokens or keys goes to an address that is not public: no connection is so much as tried', async t => {
  const { port } = new URL((await startScriptedProvider(t, new Secrets())).issuer)
  const attempts = watchSockets(t)
  const { privateKey } = await generateKeyPair('RS256')
  for (const address of ADDRESSES) {
    await t.rejects(createConfigurations()(registration(address)), { code: 'FST_MCP_CONNECT_PROVIDER_MISCONFIGURED', message: /not_public|not_https|OAUTH_HTTP_REQUEST_FORBIDDEN/ }, `metadata at ${address}`)

    const pinned = registration('https://acme.example', { endpoints: { authorization: 'https://acme.example/authorize', token: `${address}/token` } })
    const secure = address.startsWith('https:')
    const redeem = async (): Promise<unknown> => await redeemCode(await createConfigurations()(pinned), pinned,
      { response: new URL(`https://mcp.example.com/connect/callback/acme?code=code&state=${STATE}`), state: STATE, codeVerifier: 'v'.repeat(43) })
    await t.rejects(redeem(), { code: secure ? 'FST_MCP_CONNECT_EXCHANGE_FAILED' : 'FST_MCP_CONNECT_PROVIDER_MISCONFIGURED' }, `tokens at ${address}`)

    const keys = new client.Configuration({ issuer: 'https://acme.example', jwks_uri: `${address}/jwks` }, 'id')
    const accessToken = await new SignJWT({}).setProtectedHeader({ alg: 'RS256' }).setExpirationTime('1m').setIssuer('https://acme.example').setAudience('https://mcp.example.com').sign(privateKey)
    const tokens = { access_token: accessToken, claims: () => ({ sub: 'alice' }) } as unknown as Tokens
    await t.rejects(readUser(keys, registration('https://acme.example', { resource: 'https://mcp.example.com' }), tokens), { code: 'FST_MCP_CONNECT_EXCHANGE_FAILED' }, `keys at ${address}`)
  }
  t.strictSame(attempts, [])

  // What is let through is tried, and seen here.
  await t.rejects(createConfigurations()(registration(`https://localhost:${port}`, { privateHosts: ['localhost'] })), { message: /network_error/ })
  t.strictSame([...new Set(attempts)], ['127.0.0.1'])
})

t.test('OAR-28 metadata that lead to a private address for the code do not get it', async t => {
  const scripted = await startScriptedProvider(t, new Secrets(), 'PX')
  const attempts = watchSockets(t)
  for (const host of ['10.0.0.1', '169.254.169.254', 'metadata.google.internal', '[::ffff:a9fe:a9fe]']) {
    scripted.metadata['token_endpoint'] = `https://${host}/token`
    const provider = scripted.provider()
    const configuration = await createConfigurations()(provider)
    await t.rejects(redeemCode(configuration, provider, { response: new URL(`https://mcp.example.com/?code=code&state=${STATE}`), state: STATE, codeVerifier: 'v'.repeat(43) }),
      { code: 'FST_MCP_CONNECT_EXCHANGE_FAILED', message: /not_public/ }, host)
  }
  t.strictSame([...new Set(attempts)], ['127.0.0.1'], 'the metadata alone were asked for')
  t.strictSame(new Set(scripted.requests.map(({ path }) => path)), new Set(['/.well-known/openid-configuration']))
})

t.test('OAR-29 a name is looked up once for each connection, which goes to that very address', async t => {
  const scripted = await startScriptedProvider(t, new Secrets())
  const attempts = watchSockets(t)
  const { port } = new URL(scripted.issuer)
  const answers: string[] = []
  const fetch = createOutboundFetch({ privateHosts: [], [allowLoopbackHttp]: true }, (_hostname, _options, done) => done(null, [{ address: answers.shift()!, family: 4 }]))
  const url = `http://localhost:${port}/.well-known/openid-configuration`
  for (let i = 1; i <= 4; i++) {
    answers.push('127.0.0.1')
    t.equal((await fetch(url, {})).status, 200)
    t.strictSame([attempts.splice(0), answers, scripted.connections], [['127.0.0.1'], [], i], 'one look-up, one connection')
  }
  answers.push('169.254.169.254')
  await t.rejects(fetch(url, {}), { message: /not_public/ })
  t.strictSame([attempts.splice(0), answers, scripted.connections], [[], [], 4], 'nor does a connection live on that was made before')
  answers.push('127.0.0.2')
  await fetch(url, {}).catch(() => {})
  t.strictSame([attempts.splice(0), answers, scripted.connections], [['127.0.0.2'], [], 4], 'and not to where it was first')
})
