import { randomBytes } from 'node:crypto'
import t from 'tap'
import { createKeyRing } from '../../lib/vault/key-ring.js'
import { createSealer } from '../../lib/vault/sealer.js'

const [first, second] = [randomBytes(32), randomBytes(32)]
const context = ['grant', 'T1', 'https://login.example.com', 'a', 'acme']
const broken = { code: 'FST_MCP_CONNECT_SEAL_BROKEN' }

t.test('what was sealed opens, with the newest key and with an older one', async t => {
  const old = createSealer(createKeyRing([first]))
  const ring = createSealer(createKeyRing([second, first]))
  for (const plaintext of ['', 'x', 'tökén \u{1F511}', 'x'.repeat(100_000)]) {
    t.equal(ring.open(ring.seal(plaintext, context), context), plaintext)
    t.equal(ring.open(old.seal(plaintext, context), context), plaintext)
  }
  t.throws(() => old.open(ring.seal('x', context), context), broken, 'VLT-10 an unknown key')
})

t.test('VLT-02 VLT-03 VLT-04 a sealed value opens nowhere else', async t => {
  const sealer = createSealer(createKeyRing([first]))
  const sealed = sealer.seal('x', context)
  for (const other of [
    ['flow', 'T1', 'https://login.example.com', 'a', 'acme'],
    ['grant', 'T2', 'https://login.example.com', 'a', 'acme'],
    ['grant', 'T1', 'https://login.example.com', 'b', 'acme'],
    ['grant', 'T1', 'https://login.example.com', 'a', 'other'],
    ['grant', 'T1', 'https://login.example.com', 'aacme', ''],
    ['grant', 'T1https://login.example.com', '', 'a', 'acme'],
    ['grant', 'T1', 'https://login.example.com', 'a'],
    [...context, '']
  ]) t.throws(() => sealer.open(sealed, other), broken)
  t.throws(() => sealer.open(sealer.seal('x', ['\uD800']), ['\uD801']), broken, 'code unit by code unit')
})

t.test('VLT-14 a sealed value has one form', async t => {
  const sealer = createSealer(createKeyRing([first]))
  const sealed = sealer.seal('x', context)
  const lastBits = sealed.slice(0, -1) + String.fromCharCode(sealed.charCodeAt(sealed.length - 1) + 1)
  for (const other of [`${sealed}!`, `${sealed}=`, `${sealed} `, `${sealed.slice(0, -3)} ${sealed.slice(-3)}`, lastBits]) {
    t.throws(() => sealer.open(other, context), broken, other.slice(-6))
  }
})

t.test('VLT-10 VLT-14 whatever is changed, nothing opens', async t => {
  const sealer = createSealer(createKeyRing([first]))
  const sealed = sealer.seal('plaintext-canary', context)
  const parts = sealed.split('.')
  t.equal(parts.length, 6)
  const change = (index: number, by: (part: string) => string): string => parts.map((part, i) => i === index ? by(part) : part).join('.')
  const flip = (part: string): string => {
    const bytes = Buffer.from(part, 'base64url')
    bytes[0]! ^= 1
    return bytes.toString('base64url')
  }
  for (const changed of [
    '', 'x', '1', '.....', `${sealed}.x`, parts.slice(0, 5).join('.'),
    change(0, () => '2'), change(0, () => '0'), change(1, () => 'none'), change(1, () => ''),
    change(2, flip), change(3, flip), change(4, flip), change(5, flip),
    change(5, tag => tag.slice(0, 6)), change(5, () => ''), change(3, () => ''), change(4, () => ''),
    `${sealed}.AAAA`, ...[4, 8, 12, 15].map(length => change(5, tag => Buffer.from(tag, 'base64url').toString('base64url', 0, length)))
  ]) {
    t.throws(() => sealer.open(changed, context), broken, changed.slice(0, 20))
    try { sealer.open(changed, context) } catch (error) { t.notMatch(String((error as Error).stack), 'canary') }
  }
})

t.test('derived secrets differ by purpose and by key, and a key id tells nothing of the key', async t => {
  const ring = createKeyRing([second, first])
  const secrets = [...ring.derive('a'), ...ring.derive('b')].map(secret => secret.toString('hex'))
  t.equal(new Set(secrets).size, 4)
  t.match(ring.newest.id, /^[0-9a-f]{16}$/)
  t.notMatch(ring.newest.secret.toString('hex'), ring.newest.id)
})

t.test('VLT-09 what an earlier release has sealed opens', async t => {
  const key = Buffer.from('fLq0v1yN3mZkT8cW5sXr2JhB7dUe9oGaPiRnQyKtE4M', 'base64url')
  const sealed = '1.0fd9eba97e1256b1.lANUQv1CHJezy2e2htiQt5JKuo4rxOdhvEdHBP41p5E.-SokCsetIxEBlyaU.UM5ZTS9WHQ.zCv1C6nNcUwJo2bbvivLiA'
  t.equal(createSealer(createKeyRing([key])).open(sealed, context), 'tökén')
})

t.test('VLT-10 a refusal names the key, and nothing else that stands there', async t => {
  const sealer = createSealer(createKeyRing([first]))
  t.throws(() => sealer.open(`1.${'0'.repeat(16)}.A.A.A.A`, context), { ...broken, message: /0{16}/ })
  for (const id of ['id-canary', `${'0'.repeat(16)}\nid-canary`]) {
    t.throws(() => sealer.open(`1.${id}.A.A.A.A`, context), { ...broken, message: /of another form/ })
    try { sealer.open(`1.${id}.A.A.A.A`, context) } catch (error) { t.notMatch(String((error as Error).stack), 'canary') }
  }
})

t.test('VLT-07 the same plaintext never seals to the same', async t => {
  const sealer = createSealer(createKeyRing([first]))
  const parts = Array.from({ length: 100_000 }, () => sealer.seal('x', context).split('.'))
  for (const index of [2, 3, 4, 5]) t.equal(new Set(parts.map(part => index < 4 ? part[index] : part.slice(2).join())).size, 100_000)
})
