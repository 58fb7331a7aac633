import assert from 'node:assert/strict'
import type { Revision } from '../storage.js'
import { contractCase, show, type ContractCase } from './contract.js'
import { assertDeleted, assertHolds, assertLost, assertMissing, create, replace, type Entries, type Entry } from './entry.js'
import { raceContract } from './race-contract.js'

/** What compare-and-set promises, for vaults and state stores alike. */
export function entryContract<T> (entries: Entries<T>): ReadonlyArray<ContractCase<T>> {
  const entryCase = (name: string, check: (one: Entry, other: Entry, neighbour: Entry) => Promise<void>): ContractCase<T> =>
    contractCase<T>(name, async (...adapters) => await check(...entries(...adapters), entries(...adapters)[0]))

  return [
    entryCase('what was never written is null', async entry => {
      await assertMissing(entry, 'when there is nothing')
    }),

    entryCase('what was put is found, with the revision that put returned', async (entry, other) => {
      await assertMissing(other, 'when there is nothing')
      const revision = await create(entry, 'value')
      await assertHolds(other, 'value', revision, 'once it was put')
      const next = await replace(entry, 'another value', revision)
      await assertHolds(other, 'another value', next, 'once the value was replaced')
    }),

    entryCase('put without an expected revision replaces nothing', async (entry, other) => {
      const revision = await create(entry, 'first')
      assertLost(await other.put('second', null), 'when there is something already')
      await assertHolds(entry, 'first', revision, 'after a put that lost')
    }),

    entryCase('put with a revision that is not there changes nothing', async (entry, other) => {
      for (const wrong of ['', 'no such revision']) {
        assertLost(await entry.put('value', wrong), `for ${show(wrong)} where there is nothing`)
        assertDeleted(await other.delete(wrong), false, `for ${show(wrong)} where there is nothing`)
      }
      await assertMissing(entry, 'after a put that lost')
      const first = await create(entry, 'first')
      const second = await replace(entry, 'second', first)
      assertLost(await other.put('third', first), 'for a revision that was replaced')
      for (const wrong of wrongOnes(second)) assertLost(await other.put('third', wrong), `for ${show(wrong)} where ${show(second)} is there`)
      await assertHolds(entry, 'second', second, 'after a put that lost')
    }),

    entryCase('delete with a revision that is not there deletes nothing', async (entry, other) => {
      assertDeleted(await entry.delete('no such revision'), false, 'when there is nothing')
      const first = await create(entry, 'first')
      const second = await replace(entry, 'second', first)
      assertDeleted(await other.delete(first), false, 'for a revision that was replaced')
      for (const wrong of wrongOnes(second)) assertDeleted(await other.delete(wrong), false, `for ${show(wrong)} where ${show(second)} is there`)
      await assertHolds(entry, 'second', second, 'after a delete that lost')
    }),

    entryCase('the revision of another entry is not there', async (entry, other, neighbour) => {
      const first = await create(entry, 'first')
      const second = await replace(entry, 'second', first)
      assertLost(await neighbour.put('value', second), 'where there is nothing, for the revision of another entry')
      assertDeleted(await neighbour.delete(second), false, 'where there is nothing, for the revision of another entry')
      const revision = await create(neighbour, 'neighbour')
      if (revision !== second) {     // two entries may have the same
        assertLost(await neighbour.put('value', second), 'for the revision of another entry')
        assertDeleted(await neighbour.delete(second), false, 'for the revision of another entry')
      }
      await assertHolds(neighbour, 'neighbour', revision, 'after writes that lost')
      await assertHolds(other, 'second', second, 'after writes to another entry')
    }),

    entryCase('delete with the right revision deletes, once', async (entry, other) => {
      const revision = await create(entry, 'value')
      await assertHolds(other, 'value', revision, 'once it was put')
      assertDeleted(await entry.delete(revision), true, 'when the revision is there')
      await assertMissing(other, 'once it was deleted')
      assertDeleted(await other.delete(revision), false, 'the second time')
      assertLost(await other.put('late', revision), 'for the revision of what was deleted')
      await assertMissing(entry, 'after a put that lost')
    }),

    ...raceContract(entries),

    entryCase('every write gives a new revision, for an equal value too', async entry => {
      const first = await create(entry, 'value')
      const second = await replace(entry, 'value', first)
      assert.notEqual(second, first, `put must give a new revision with each write, and gave ${show(first)} twice`)
    }),

    entryCase('a revision never comes back, not even after a delete', async (entry, other) => {
      const revisions = new Set<Revision>()
      for (let i = 0; i < 20; i++) {
        const first = await create(entry, 'value')
        const second = await replace(entry, 'value', first)
        assertDeleted(await other.delete(second), true, 'when the revision is there')
        for (const revision of [first, second]) {
          assert.ok(!revisions.has(revision), `put must never give a revision again, not after a delete either, and gave ${show(revision)} again`)
          revisions.add(revision)
        }
      }
      const last = await create(entry, 'value')
      for (const revision of revisions) {
        assertLost(await other.put('late', revision), 'for a revision of before the delete')
        assertDeleted(await other.delete(revision), false, 'for a revision of before the delete')
      }
      await assertHolds(entry, 'value', last, 'after puts that lost')
    }),

    entryCase('large values, and values that look like something else, stay what they are', async (entry, other) => {
      const printable = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).join('')
      const large = Array.from({ length: 8192 }, (_, i) => String(i).padStart(8, '0')).join('')     // no part of it is like another
      for (const value of [printable, 'null', 'undefined', '{}', '0', '007', '1e3', ' padded ', "'; --", '%s', '\\n', '%41', large, printable]) {
        const first = await create(entry, value)
        await assertHolds(other, value, first, 'once it was put')
        const second = await replace(entry, large, first)
        await assertHolds(other, large, second, 'once the value was replaced')
        const third = await replace(entry, value, second)
        await assertHolds(other, value, third, 'once the value was replaced')
        assertDeleted(await entry.delete(third), true, 'when the revision is there')
      }
    })
  ]
}

/** What reads like the revision to somebody who takes it for a number or a pattern. */
function wrongOnes (revision: Revision): readonly Revision[] {
  return ['', 'no such revision', `${revision}x`, `${revision} `, `0${revision}`, '%']
}
