import t from 'tap'
import { findAccount, findSuccessor, withGrant, withoutGrants, type VaultEntry } from '../../lib/connections/entry.js'
import { placeGrant, targetOf } from '../../lib/connections/placement.js'
import type { Account } from '../../lib/types.js'
import { storedGrant } from '../fixtures/grants.js'

const grantOf = (id: string, account?: Account) => storedGrant({ accessToken: id, ...account !== undefined && { account } }, { id })
const one = grantOf('one', { subject: '1', label: 'work@example.com' })
const two = grantOf('two', { subject: '2', label: '1' })
const both: VaultEntry = { accounts: [one, two] }
const unknown: VaultEntry = { accounts: [grantOf('unknown')] }

t.test('an account is found by its identifier, then by its label, and by nothing else', async t => {
  t.equal(findAccount(both, undefined), one)
  t.equal(findAccount(both, '2'), two)
  t.equal(findAccount(both, 'work@example.com'), one)
  t.equal(findAccount(both, '1'), one, 'the identifier comes first')
  t.equal(findAccount(both, 'WORK@example.com'), undefined)
})

t.test('BND-19 a grant of another account takes the place of none without a question', async t => {
  const other = { subject: '3' }
  t.strictSame(placeGrant(null, {}, other), { kind: 'clear', replaces: null })
  t.strictSame(placeGrant(both, {}, { subject: '1' }), { kind: 'clear', replaces: 'one' }, 'the same account')
  t.strictSame(placeGrant(both, {}, { subject: '2' }), { kind: 'clear', replaces: 'two' }, 'one that is connected is renewed, and nothing of the default is lost')
  t.strictSame(placeGrant(both, {}, other), { kind: 'conflict', with: one })
  t.strictSame(placeGrant(both, { account: '2' }, other), { kind: 'conflict', with: two })
  t.strictSame(placeGrant(both, {}, undefined), { kind: 'conflict', with: one }, 'nobody can tell whether it is the same')
  t.strictSame(placeGrant(both, { account: 'new@example.com' }, other), { kind: 'clear', replaces: null }, 'one that was not there is added')
  t.strictSame(placeGrant(both, { another: true }, other), { kind: 'clear', replaces: null })
  t.strictSame(placeGrant(both, { another: true }, { subject: '2' }), { kind: 'clear', replaces: 'two' })
  t.strictSame(placeGrant(both, { another: true }, undefined), { kind: 'conflict', with: one })
  t.strictSame(placeGrant(unknown, {}, undefined), { kind: 'clear', replaces: 'unknown' })
  t.strictSame(placeGrant(unknown, {}, other), { kind: 'clear', replaces: 'unknown' }, 'there is nothing to compare')
})

t.test('what a link is about', async t => {
  t.equal(targetOf(both, {}), one)
  t.equal(targetOf(both, { account: '2' }), two)
  for (const [entry, wish] of [[both, { account: '3' }], [both, { another: true }], [null, {}]] as const) t.equal(targetOf(entry, wish), undefined)
})

t.test('COMPLAINTS: the second account overwrites the first. Accounts keep their places', async t => {
  const third = grantOf('three', { subject: '3' })
  const ids = (entry: VaultEntry | null): readonly string[] => entry?.accounts.map(({ id }) => id) ?? []
  t.strictSame(ids(withGrant(null, one, null)), ['one'])
  t.strictSame(ids(withGrant(both, third, null)), ['one', 'two', 'three'])
  t.strictSame(ids(withGrant(both, third, 'one')), ['three', 'two'])
  t.strictSame(ids(withGrant(both, grantOf('again', { subject: '2' }), null)), ['one', 'again'])
  t.strictSame(ids(withGrant(both, grantOf('again', { subject: '2' }), 'one')), ['again'], 'it takes both places')
  t.strictSame(ids(withGrant(unknown, grantOf('unknown too'), null)), ['unknown too'], 'two that nobody could tell apart are one')
  t.strictSame(ids(withoutGrants(both, ({ id }) => id === 'one')), ['two'])
  t.equal(withoutGrants(both, () => true), null)
})

t.test('a handle goes on with its account, also when the user has connected that again', async t => {
  const again = grantOf('again', { subject: '1' })
  t.equal(findSuccessor(both, one), one)
  t.equal(findSuccessor({ accounts: [two, again] }, one), again)
  t.equal(findSuccessor({ accounts: [two] }, one), undefined, 'another account is none of its own')
})
