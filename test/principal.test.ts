import t from 'tap'
import { plainText } from '../lib/plain-text.js'
import { differingMembers, explainInvalidPrincipal, hashPrincipal, parsePrincipal } from '../lib/principal.js'

const principal = { issuer: 'https://login.example.com', subject: 'a', tenant: 'T1' }

t.test('TEN-01 principals are compared member by member, code unit by code unit', async t => {
  t.strictSame(differingMembers(principal, { ...principal }), [])
  t.strictSame(differingMembers(principal, { ...principal, issuer: 'https://login.example.com/' }), ['issuer'])
  t.strictSame(differingMembers(principal, { ...principal, subject: 'A' }), ['subject'])
  t.strictSame(differingMembers(principal, { issuer: principal.issuer, subject: 'a' }), ['tenant'])
  t.strictSame(differingMembers({ ...principal, subject: '\u00e9' }, { ...principal, subject: 'e\u0301' }), ['subject'], 'nothing is normalised')
  const others = [
    { ...principal, subject: 'A' }, { ...principal, subject: ' a' }, { ...principal, subject: 'a ' }, { ...principal, tenant: 'T2' },
    { ...principal, issuer: 'https://login.example.com/' }, { issuer: principal.issuer, subject: 'a' },
    { issuer: 'https://login.example.co', subject: 'ma', tenant: 'T1' }, { ...principal, subject: '\uD800' }, { ...principal, subject: '\uD801' },
    { ...principal, subject: '\uFFFD' }, { ...principal, subject: '\u00e9' }, { ...principal, subject: 'e\u0301' }
  ]
  t.equal(new Set([principal, ...others].map(hashPrincipal)).size, others.length + 1)
  t.match(hashPrincipal(principal), /^[0-9a-f]{64}$/)
})

t.test('what the host gives is taken as it is, or not at all', async t => {
  t.strictSame(parsePrincipal({ ...principal, subject: ' a ', label: 'x', admin: true }), { ...principal, subject: ' a ' })
  t.strictSame(parsePrincipal({ issuer: 'i', subject: 's', tenant: undefined }), { issuer: 'i', subject: 's' })
  for (const bad of [undefined, null, 'a', [], {}, { issuer: 'i' }, { issuer: '', subject: 's' }, { issuer: 'i', subject: 7 },
    { issuer: 'i', subject: 's', tenant: '' }, { issuer: 'i', subject: 'x'.repeat(1025) }, { issuer: ['i'], subject: 's' }]) t.equal(parsePrincipal(bad), null)
})

t.test('a claim that is an object with a length of its own is no principal, and no failure', async t => {
  const subject: unknown = JSON.parse('{"length": {"toString": 1, "valueOf": 1}}')
  t.equal(parsePrincipal({ ...principal, subject }), null)
  t.equal(explainInvalidPrincipal({ ...principal, subject }), 'its subject is not a string but a object')
  t.strictSame(parsePrincipal({ ...principal, subject: '\n' }), { ...principal, subject: '\n' })
})

t.test('INP-11 plain text is one line, without what could reorder it, and not too long', async t => {
  t.equal(plainText(' a\r\n\tb\u202Ec\u0000d\u2028e ', 100), 'a b c d e')
  t.equal(plainText('x'.repeat(11), 10), `${'x'.repeat(9)}…`)
  t.equal([...plainText('\u{1F511}'.repeat(11), 10)].length, 10)
  t.equal(plainText('x'.repeat(10), 10), 'x'.repeat(10))
})
