import { createPrivateKey, createPublicKey, createSecretKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { inspect } from 'node:util'
import pino from 'pino'
import t from 'tap'
import { defineProvider, oidcLogin } from '../lib/index.js'

const definition = { name: 'Acme', issuer: 'https://acme.example', clientId: 'id', apiOrigins: ['https://api.acme.example'] }
const login = { issuer: 'https://login.example.com', clientId: 'id' }
const ec = (namedCurve: string): KeyObject => generateKeyPairSync('ec', { namedCurve }).privateKey
const rsa = (modulusLength: number): KeyObject => generateKeyPairSync('rsa', { modulusLength }).privateKey
const [p256, rsa2048] = [ec('P-256'), rsa(2048)]
const jwk = p256.export({ format: 'jwk' })

t.test('a private key, as a JWK or as a KeyObject, with the algorithm that goes with it', async t => {
  for (const [privateKey, alg, kid] of [
    [jwk, 'ES256', undefined],
    [{ ...jwk, kid: '1', alg: 'ES256', use: 'sig' }, 'ES256', '1'],
    [{ key: p256, kid: '2' }, 'ES256', '2'],
    [{ key: createPrivateKey(String(p256.export({ type: 'pkcs8', format: 'pem' }))) }, 'ES256', undefined],
    [ec('P-384').export({ format: 'jwk' }), 'ES384', undefined],
    [{ key: ec('P-521') }, 'ES512', undefined],
    [rsa2048.export({ format: 'jwk' }), 'RS256', undefined],
    [{ ...rsa2048.export({ format: 'jwk' }), alg: 'PS384' }, 'PS384', undefined],
    [{ key: rsa2048, alg: 'RS512' as const }, 'RS512', undefined]
  ] as const) {
    const provider = defineProvider({ ...definition, privateKey })
    t.match(provider, { clientAuthentication: 'private_key_jwt', privateKey: { alg, key: { type: 'private' } } }, alg)
    t.equal(provider.privateKey!.kid, kid)
    t.match(defineProvider({ ...provider }).privateKey, { alg }, 'what is defined can be defined again, as presets are')
    t.match(oidcLogin({ ...login, privateKey }), { clientAuthentication: 'private_key_jwt', privateKey: { alg } })
  }
  t.equal(defineProvider({ ...definition, privateKey: jwk, clientAuthentication: 'private_key_jwt' }).clientAuthentication, 'private_key_jwt')
})

t.test('what is no private key, or not the only one, is refused, and never repeated', async t => {
  const pem = String(p256.export({ type: 'pkcs8', format: 'pem' }))
  const publicJwk = createPublicKey(p256).export({ format: 'jwk' })
  const symmetric = { kty: 'oct', k: 'c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0' }
  for (const [change, path, mend] of [
    [{ privateKey: undefined }, 'privateKey', /environment variable/],
    [{ privateKey: pem }, 'privateKey', /JSON\.parse.*createPrivateKey\(pem\)/],
    [{ privateKey: JSON.stringify(jwk) }, 'privateKey', /JSON\.parse/],
    [{ privateKey: null }, 'privateKey', /private JWK/],
    [{ privateKey: {} }, 'privateKey', /private JWK/],
    [{ privateKey: p256 }, 'privateKey', /\{ key: createPrivateKey\(pem\), kid \}/],
    [{ privateKey: symmetric }, 'privateKey', /symmetric.*clientSecret/],
    [{ privateKey: { key: createSecretKey(Buffer.alloc(32)) } }, 'privateKey', /symmetric/],
    [{ privateKey: publicJwk }, 'privateKey', /public key.*private one/],
    [{ privateKey: { key: createPublicKey(p256) } }, 'privateKey', /public key/],
    [{ privateKey: { ...jwk, x: 'AA' } }, 'privateKey', /cannot be read/],
    [{ privateKey: { key: rsa(1024) } }, 'privateKey', /2048 bits/],
    [{ privateKey: { key: ec('secp256k1') } }, 'privateKey', /P-256, P-384 or P-521/],
    [{ privateKey: generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' }) }, 'privateKey', /RSA, or of EC/],
    [{ privateKey: { ...jwk, alg: 'HS256' } }, 'privateKey', /none of this key: ES256/],
    [{ privateKey: { ...jwk, alg: 'none' } }, 'privateKey', /none of this key: ES256/],
    [{ privateKey: { ...jwk, alg: 'ES384' } }, 'privateKey', /none of this key: ES256/],
    [{ privateKey: { ...jwk, kid: 1 } }, 'privateKey', /kid that is no text/],
    [{ privateKey: { ...jwk, use: 'enc' } }, 'privateKey', /not for signatures/],
    [{ privateKey: jwk, clientSecret: 'secret' }, 'privateKey', /beside a clientSecret/],
    [{ privateKey: jwk, clientAuthentication: 'client_secret_post' }, 'clientAuthentication', /"private_key_jwt" with a privateKey/],
    [{ clientAuthentication: 'private_key_jwt' }, 'clientAuthentication', /needs a privateKey/],
    [{ clientSecret: 'secret', clientAuthentication: 'private_key_jwt' }, 'clientAuthentication', /needs a privateKey, and no clientSecret/],
    [{ clientAuthentication: 'client_secret_jwt' }, 'clientAuthentication', /one of: client_secret_basic, client_secret_post, private_key_jwt/]
  ] as const) {
    for (const define of [() => defineProvider({ ...definition, ...change } as never), () => oidcLogin({ ...login, ...change } as never)]) {
      const error = t.throws(define, { code: 'FST_MCP_CONNECT_OPTIONS', message: mend }) as unknown as Error
      t.match(error.message, new RegExp(`→ at ${path}`))
      for (const secret of [jwk.d!, symmetric.k, pem.slice(40, 80)]) t.notMatch(inspect(error, { depth: 10, showHidden: true }), secret)
    }
  }
})

t.test('nothing that prints a provider or a login shows its key', async t => {
  const lines: string[] = []
  const log = pino({ level: 'trace' }, { write: line => { lines.push(line) } })
  const numbers = rsa2048.export({ format: 'jwk' })
  for (const made of [defineProvider({ ...definition, privateKey: numbers }), oidcLogin({ ...login, privateKey: numbers })]) {
    log.info({ made }, 'made')
    const shown = [inspect(made, { depth: 20, showHidden: true, getters: true }), JSON.stringify(made), JSON.stringify(structuredClone({ ...made, privateKey: { ...made.privateKey, key: null } })), ...lines]
    for (const number of ['d', 'p', 'q', 'dp', 'dq', 'qi'] as const) {
      for (const text of shown) t.notMatch(text, numbers[number]!)
    }
    t.match(shown[1], '"alg":"RS256"')
  }
})
