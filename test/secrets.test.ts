import { randomBytes } from 'node:crypto'
import t from 'tap'
import { inspect } from 'node:util'
import { Secrets } from './fixtures/secrets.js'

/** Characters that percent-encoding, JSON and HTML may write otherwise. */
const SECRET = `-_/+"'&<~ ${randomBytes(16).toString('base64url')}`
const bytes = Buffer.from(SECRET)

function secrets (): Secrets {
  const secrets = new Secrets()
  secrets.add('code', SECRET)
  secrets.add('key', randomBytes(32))
  return secrets
}

const hexEscapes = (text: string): string => text.replace(/\W/g, character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
const percent = (text: string): string => [...Buffer.from(text)].map(byte => `%${byte.toString(16)}`).join('')

const PLANTED: ReadonlyArray<[string, string | Buffer, string]> = [
  ['plain', SECRET, 'plain'],
  ['bytes', bytes, 'plain'],
  ['percent-encoded', encodeURIComponent(SECRET), 'percent-encoded'],
  ['all of it percent-encoded', percent(SECRET), 'percent-encoded'],
  ['a part of it percent-encoded', SECRET.replace('/', '%2F'), 'percent-encoded'],
  ['percent-encoded three times', encodeURIComponent(encodeURIComponent(encodeURIComponent(SECRET))), 'percent-encoded'],
  ['a form', new URLSearchParams({ code: SECRET }).toString(), 'percent-encoded'],
  ['JSON', JSON.stringify({ code: SECRET }), 'escaped'],
  ['JSON in JSON in JSON', JSON.stringify(JSON.stringify(JSON.stringify({ code: SECRET }))), 'escaped'],
  ['JSON with escapes for all that is no letter', `"${hexEscapes(SECRET)}"`, 'escaped'],
  ['JSON with escaped slashes, in JSON', JSON.stringify(JSON.stringify(SECRET).replace('/', '\\/')), 'escaped'],
  ['inspect', inspect({ code: SECRET, list: [`\x1B${SECRET}\``] }), 'plain'],
  ['HTML', SECRET.replace(/\W/gu, character => `&#${character.codePointAt(0)};`), 'HTML'],
  ['HTML by names', SECRET.replaceAll('&', '&amp;').replaceAll('<', '&lt;'), 'HTML'],
  ['UTF-16', Buffer.from(SECRET, 'utf16le'), 'UTF-16'],
  ['hex', bytes.toString('hex'), 'hex'],
  ['hex in capitals, after half a byte', `C${bytes.toString('hex').toUpperCase()}`, 'hex'],
  ['hex with colons', bytes.toString('hex').match(/../g)!.join(':'), 'hex'],
  ['a Buffer, inspected', inspect(bytes), 'hex'],
  ['a Buffer in JSON', JSON.stringify({ raw: bytes }), 'numbers'],
  ['an Uint8Array, inspected', inspect(new Uint8Array(bytes)), 'numbers'],
  ['base64 of percent-encoding', `Basic ${Buffer.from(`client:${encodeURIComponent(SECRET)}`).toString('base64')}`, 'percent-encoded, base64'],
  ['percent-encoded base64', encodeURIComponent(Buffer.concat([Buffer.from('>>>'), bytes]).toString('base64')), 'base64, percent-encoded'],
  ['hex of base64 in JSON in a Buffer', JSON.stringify(Buffer.from(JSON.stringify(bytes.toString('base64')))), 'base64, numbers']
]

t.test('LOG-13 the search for secrets finds them, whichever way they are written', async t => {
  for (const [title, text, encoding] of PLANTED) {
    const within = Buffer.concat([Buffer.from('{"level":10,"msg":"'), Buffer.from(text as string), Buffer.from('","n":1}\n')])
    t.ok(secrets().find(within).includes(`code (${encoding})`), title)
    t.notSame(secrets().find(JSON.stringify({ line: within.toString('latin1') })), [], `${title}, in JSON`)
  }
})

t.test('LOG-13 base64 may begin anywhere', async t => {
  for (const encoding of ['base64', 'base64url'] as const) {
    for (const before of ['', '.', '..', '...']) {
      const text = Buffer.from(`${before}${SECRET}and more`).toString(encoding)
      for (const prefix of ['', 'x', '/', 'Bearer ', 'xyz']) {
        t.ok(secrets().find(`${prefix}${text}`).includes(`code (${encoding})`), `${encoding} after "${before}", within a text after "${prefix}"`)
      }
    }
  }
})

t.test('LOG-13 bytes are found in a text as well as in bytes', async t => {
  const key = randomBytes(32)
  const secrets = new Secrets()
  secrets.add('key', key)
  t.strictSame(secrets.find(Buffer.concat([randomBytes(7), key, randomBytes(7)])), ['key (plain)'])
  t.match(secrets.find(`key: ${key.toString('base64')}`), ['key (base64)'])
  t.match(secrets.find(inspect(key)), ['key (hex)'])
})

t.test('LOG-13 it tells secrets apart, and takes several values of one name', async t => {
  const secrets = new Secrets()
  for (const value of ['first-of-code', 'second-of-code']) secrets.add('code', value)
  secrets.add('code_verifier', 'the verifier, which is another')
  t.strictSame(secrets.names, ['code', 'code_verifier'])
  t.strictSame(secrets.find('a second-of-code b'), ['code (plain)'])
  t.strictSame(secrets.find('a the+verifier%2C+which+is+another b'), ['code_verifier (percent-encoded)'])
  t.strictSame(secrets.find('first-of-code, "the verifier, which is another"'), ['code (plain)', 'code_verifier (plain)'])
})

t.test('LOG-13 it does not cry wolf', async t => {
  const other = secrets()
  for (const [title, text] of PLANTED) t.strictSame(other.find(Buffer.concat([Buffer.from(text as string), Buffer.from(' ')]).subarray(0, 12)), [], title)
  t.strictSame(other.find(SECRET.slice(1)), [], 'a part is not the whole')
  t.strictSame(other.find(randomBytes(100_000)), [])
  t.strictSame(other.find(randomBytes(50_000).toString('base64')), [])
  t.strictSame(other.find('%'.repeat(5000) + '%25'.repeat(5000) + '\\'.repeat(5000) + '%u0000\\uFFFF&#99999999;'), [], 'and is not confused')
  t.throws(() => other.add('short', '1234567'), 'what stands in any text is no secret')
})
