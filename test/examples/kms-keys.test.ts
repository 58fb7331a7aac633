import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { instanceToken, unwrapKeys } from '../../examples/kms-keys.js'
import { memoryStore } from '../../lib/index.js'
import type { Stored } from '../../lib/storage.js'
import { A, startServer } from '../fixtures/server.js'

const CRYPTO_KEY = 'projects/p/locations/global/keyRings/connect/cryptoKeys/connect'

interface Kms {
  readonly origin: string
  readonly cryptoKey: string
  readonly accessToken: string
  /** How many keys it was asked to unwrap. */
  readonly decrypts: number
  /** Makes a key. @returns it, as it is wrapped */
  wrap (key?: Buffer): string
  /** Answers instead of unwrapping. */
  fault?: { status: number, body: string } | undefined
}

/** Cloud KMS and the metadata server, as far as the example uses them. Closed when the test ends. */
async function startKms (t: Test): Promise<Kms> {
  const accessToken = 'canary-access-token'
  const master = randomBytes(32)
  let decrypts = 0
  const server = createServer(async (request, response) => {
    const answer = (status: number, body: object): void => { response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body)) }
    const refuse = (code: number, status: string): void => answer(code, { error: { code, message: `canary ${status}`, status } })
    if (request.url === '/computeMetadata/v1/instance/service-accounts/default/token') {
      return request.headers['metadata-flavor'] === 'Google' ? answer(200, { access_token: accessToken, expires_in: 3599, token_type: 'Bearer' }) : refuse(403, 'FORBIDDEN')
    }
    decrypts++
    if (kms.fault !== undefined) return response.writeHead(kms.fault.status).end(kms.fault.body)
    if (request.method !== 'POST' || request.url !== `/v1/${CRYPTO_KEY}:decrypt`) return refuse(404, 'NOT_FOUND')
    if (request.headers.authorization !== `Bearer ${accessToken}`) return refuse(401, 'UNAUTHENTICATED')
    const { ciphertext } = await json(request) as { ciphertext: string }
    try {
      const bytes = Buffer.from(ciphertext, 'base64')
      const decipher = createDecipheriv('aes-256-gcm', master, bytes.subarray(0, 12), { authTagLength: 16 }).setAuthTag(bytes.subarray(12, 28))
      const plaintext = Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()])
      return answer(200, { plaintext: plaintext.toString('base64'), usedPrimary: true, protectionLevel: 'SOFTWARE' })
    } catch {
      return refuse(400, 'INVALID_ARGUMENT')
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => { server.close(); server.closeAllConnections() })
  const kms: Kms = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cryptoKey: CRYPTO_KEY,
    accessToken,
    get decrypts () { return decrypts },
    wrap (key = randomBytes(32)) {
      const nonce = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', master, nonce, { authTagLength: 16 })
      const sealed = Buffer.concat([cipher.update(key), cipher.final()])
      return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64')
    }
  }
  return kms
}

t.test('the keys come back as they were, the newest first', async t => {
  const kms = await startKms(t)
  const keys = [randomBytes(32), randomBytes(32), randomBytes(48)]
  const accessToken = await instanceToken(kms.origin)
  t.strictSame(await unwrapKeys({ ...kms, accessToken, wrapped: keys.map(key => kms.wrap(key)) }), keys.map(key => key.toString('base64')))
})

t.test('the plugin starts with them and rotates, and asks the KMS at start-up only', async t => {
  const kms = await startKms(t)
  const { acme } = await startServer(t)
  const store = memoryStore()
  const [oldKey, newKey] = [kms.wrap(), kms.wrap()]
  const connect = async (wrapped: readonly string[], connected: boolean): Promise<string> => {
    const asked = kms.decrypts
    const server = await startServer(t, { at: acme, store, keys: await unwrapKeys({ ...kms, wrapped }) })
    t.equal(kms.decrypts - asked, wrapped.length)
    const browser = server.browser(A)
    if (connected) {
      const session = await server.openSession({ user: A })
      t.match(await session.client.callTool({ name: 'issues' }), { content: [{ text: /rabbit hole/ }] }, 'what an older key sealed still opens')
    }
    const { location } = (await browser.press('/connect', '/acme/connect')).headers
    t.equal((await browser.get((await server.untilCallback(browser, String(location))).href)).statusCode, 303)
    t.equal(kms.decrypts - asked, wrapped.length, 'not once more')
    return await server.vaultRows()
  }
  const before = await connect([oldKey], false)
  const after = await connect([newKey, oldKey], true)
  const keyId = (rows: string): string => (JSON.parse(rows) as Stored[])[0]!.value.split('.')[1]!
  t.not(keyId(before), keyId(after), 'the newest key seals')
})

t.test('a refused decrypt keeps the server from starting, and says which key and no secret', async t => {
  const kms = await startKms(t)
  const elsewhere = await startKms(t)
  const { acme } = await startServer(t)
  const [good, foreign] = [kms.wrap(), elsewhere.wrap()]
  const start = async (change: Partial<Parameters<typeof unwrapKeys>[0]>): Promise<Error | undefined> => {
    let started = false
    const error = await (async () => {
      await startServer(t, { at: acme, keys: await unwrapKeys({ ...kms, wrapped: [good], ...change }) })
      started = true
    })().then(() => undefined, error => error as Error)
    t.equal(started, error === undefined)
    for (const secret of ['canary', good, foreign]) t.notOk(`${error?.stack} ${JSON.stringify(error)} ${JSON.stringify(error?.cause)}`.includes(secret))
    return error
  }
  t.equal(await start({}), undefined)
  t.match((await start({ wrapped: [good, foreign] }))?.message, 'Cloud KMS did not unwrap key 2 of 2 (1 is the newest): status 400')
  t.match((await start({ wrapped: [foreign, good] }))?.message, 'key 1 of 2')
  t.match((await start({ accessToken: 'canary-of-another' }))?.message, 'key 1 of 1 (1 is the newest): status 401')
  t.match((await start({ accessToken: 'canary\nsplit' }))?.message, 'no answer, TypeError')
  t.match((await start({ cryptoKey: 'projects/other' }))?.message, 'status 404')
  t.match((await start({ wrapped: [] }))?.message, 'keys', 'without keys the plugin refuses')
  t.match((await start({ wrapped: [kms.wrap(randomBytes(16))] }))?.message, 'keys[0]', 'and with a short one')
  for (const body of ['{}', '{"plaintext":1}', '<h1>canary</h1>', '']) {
    kms.fault = { status: 200, body }
    t.match((await start({}))?.message, 'status 200, no plaintext', body)
  }
  kms.fault = { status: 503, body: '{"plaintext":"canary"}' }
  t.match((await start({}))?.message, 'status 503')
  t.match((await instanceToken('http://127.0.0.1:1').catch(error => error)).message, /The metadata server gave no access token: no answer, \w+/)
})
