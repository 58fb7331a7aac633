/* eslint-disable no-template-curly-in-string -- what is looked for is source text */
import { mutationsOf } from './mutation.js'

const SEALER = ['test/vault/sealer.test.ts']
const OPTIONS = ['test/options.test.ts']

export const vault = [
  ...mutationsOf('lib/vault/key-ring.ts', SEALER,
    { name: 'a key id tells the beginning of its key', find: "deriveKey(secret, '', 'key id').toString", replace: 'secret.toString' },
    { name: 'the oldest key seals', find: 'newest: keys[0]!', replace: 'newest: keys.at(-1)!', tests: ['test/stores/rolling-keys.test.ts', 'test/connections/resealing.test.ts'] },
    { name: 'a value is opened with the newest key, whichever has sealed it', find: 'byId.get(id)', replace: 'byId.has(id) ? keys[0] : undefined' },
    { name: 'only the newest key derives secrets', find: 'purpose => keys.map(key', replace: 'purpose => keys.slice(0, 1).map(key' },
    { name: 'secrets of different purposes are the same', find: ' ${purpose}`', replace: '`' },
    { name: 'all values of a key are sealed with one derived key', find: "'sha256', secret, salt", replace: "'sha256', secret, ''" },
    { name: 'keys are derived with SHA-1', find: "'sha256'", replace: "'sha1'" }
  ),
  ...mutationsOf('lib/vault/sealer.ts', SEALER,
    { name: 'nonces are not random', find: 'randomBytes(12)', replace: 'Buffer.alloc(12)' },
    { name: 'salts are not random', find: 'randomBytes(32)', replace: 'Buffer.alloc(32)' },
    {
      name: 'a value is not bound to its context',
      find: '      cipher.setAAD(encodeFields([VERSION, id, ...context]',
      replace: '      cipher.setAAD(encodeFields([VERSION, id]',
      also: [{ find: 'decipher.setAAD(encodeFields([VERSION, id, ...context]', replace: 'decipher.setAAD(encodeFields([VERSION, id]' }]
    },
    {
      name: 'a value is bound to its context without the lengths of its members',
      find: '      cipher.setAAD(encodeFields([VERSION, id, ...context]',
      replace: "      cipher.setAAD(Buffer.from([VERSION, id, ...context].join(''),",
      also: [{ find: 'decipher.setAAD(encodeFields([VERSION, id, ...context])', replace: "decipher.setAAD(Buffer.from([VERSION, id, ...context].join(''),)" }]
    },
    {
      name: 'a value is not bound to its version',
      find: '      cipher.setAAD(encodeFields([VERSION, id',
      replace: '      cipher.setAAD(encodeFields([id',
      also: [{ find: 'decipher.setAAD(encodeFields([VERSION, id', replace: 'decipher.setAAD(encodeFields([id' }]
    },
    {
      name: 'a value is not bound to the id of its key',
      find: '      cipher.setAAD(encodeFields([VERSION, id',
      replace: '      cipher.setAAD(encodeFields([VERSION',
      also: [{ find: 'decipher.setAAD(encodeFields([VERSION, id', replace: 'decipher.setAAD(encodeFields([VERSION' }]
    },
    { name: 'short tags are taken', find: 'nonce!, TAG)', replace: 'nonce!)' },
    { name: 'what is deciphered is not authenticated', find: ', decipher.final()', replace: '' },
    { name: 'any version is taken', find: 'version !== VERSION || ', replace: '' },
    { name: 'parts behind the fourth are ignored', find: ' || parts.length !== 4', replace: '' },
    { name: 'a value has many forms', find: ' || !parts.every(isCanonical)', replace: '' },
    { name: 'errors of the cipher are passed on', find: 'catch {\n        throw new SealBrokenError(printable(id))', replace: 'catch (error) {\n        throw error' },
    { name: 'a key id that was tampered with stands in the error message', find: ": 'of another form'", replace: ': id' },
    { name: 'what an older key has sealed is not sealed anew', find: 'sealer.keyIdOf(sealed) !== ring.newest.id', replace: 'false', tests: ['test/connections/resealing.test.ts'] },
    { name: 'what the newest key has sealed is sealed anew', find: 'sealer.isOutdated(sealed) ?', replace: 'sealed !== null ?', tests: ['test/connections/resealing.test.ts'] },
    { name: 'what is sealed anew is sealed for no context', find: 'sealer.seal(plaintext, context)', replace: 'sealer.seal(plaintext, [])', tests: ['test/connections/resealing.test.ts'] }
  ),
  ...mutationsOf('lib/vault/secret.ts', OPTIONS,
    { name: 'examples from documentation are taken for what they look like', find: 'KNOWN.includes(value.toLowerCase())', replace: 'KNOWN.includes(String())' },
    { name: 'examples from documentation are known in their own case alone', find: 'value.toLowerCase()', replace: 'value' },
    ...['complex_password_at_least_32_characters_long', 'averylogphrasebiggerthanthirtytwochars', 'a secret with minimum length of 32 characters']
      .map(example => ({ name: `"${example}" is no known example`, find: `'${example}'`, replace: "''" })),
    { name: 'keys may hold any characters', find: '!/^[\\w+/-]*={0,2}$/.test(value)', replace: 'value === undefined' },
    { name: 'keys in hexadecimal are read as base64', find: "hexadecimal ? 'hex' : 'base64'", replace: "'base64'" },
    { name: 'short keys are taken', find: 'bytes.length < 32', replace: 'bytes.length < 1' },
    { name: 'keys of 31 bytes are taken', find: 'bytes.length < 32', replace: 'bytes.length < 31' },
    { name: 'words are taken for keys', find: 'wordlike || text', replace: 'text' },
    { name: 'hexadecimal keys may be digits alone', find: '!/\\d/.test(value) || !/[a-f]/i.test(value)', replace: '!/\\d/.test(value)' },
    { name: 'hexadecimal keys may be letters alone', find: '!/\\d/.test(value) || !/[a-f]/i.test(value)', replace: '!/[a-f]/i.test(value)' },
    { name: 'keys may be without small letters', find: '!/[a-z]/.test(value) || !/[A-Z]/.test(value)', replace: '!/[A-Z]/.test(value)' },
    { name: 'keys may be without capital letters', find: '!/[a-z]/.test(value) || !/[A-Z]/.test(value)', replace: '!/[a-z]/.test(value)' },
    { name: 'texts in base64 are taken for keys', find: 'wordlike || text || ladder', replace: 'wordlike || ladder' },
    { name: 'numbers in a row are taken for keys', find: 'text || ladder', replace: 'text' },
    { name: 'keys of few different bytes are taken', find: 'new Set(bytes).size < 16', replace: 'new Set(bytes).size < 15' }
  )
]
