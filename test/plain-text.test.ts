import t from 'tap'
import { plainText } from '../lib/plain-text.js'

t.test('INP-01 one line, without characters that reorder or hide text, and no longer than asked', async t => {
  t.equal(plainText(' a\u202Eb\n\tc\u0000 ', 10), 'a b c')
  t.equal(plainText('12345', 5), '12345')
  t.equal(plainText('123456', 5), '1234…')
  t.equal(plainText('😀'.repeat(6), 5), '😀😀😀😀…', 'characters are not cut in two')
})

t.test('INP-01 nothing that cannot be seen, and no half a character', async t => {
  t.equal(plainText('\u3164\u2800\u115F\u034F', 10), '')
  t.equal(plainText(`${'x'.repeat(39)}😀`, 40), `${'x'.repeat(39)}😀`)
  t.notMatch(plainText(`${' '.repeat(39)}😀`, 10), /\p{Cs}/u)
})

t.test('no more is read than can be shown', async t => {
  t.equal(plainText(`${' '.repeat(40)}x`, 10), '')
})
