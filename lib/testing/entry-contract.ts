import assert from 'node:assert/strict'
import type { Revision, Stored } from '../types.js'
import { atOnce, contractCase, type ContractCase } from './contract.js'

/** One entry of a vault, or one record of a state store. */
export interface Entry {
  get (): Promise<Stored | null>
  put (value: string, expected: Revision | null): Promise<Revision | null>
  delete (expected: Revision): Promise<boolean>
}

/** What compare-and-set promises, for vaults and state stores alike. @param entries gives one new entry, seen through each adapter */
export function entryContract<T> (entries: (...adapters: readonly T[]) => readonly [Entry, Entry]): ReadonlyArray<ContractCase<T>> {
  const entryCase = (name: string, check: (one: Entry, other: Entry) => Promise<void>): ContractCase<T> =>
    contractCase<T>(name, async (...adapters) => await check(...entries(...adapters)))

  return [
    entryCase('what was never written is null', async entry => {
      assert.equal(await entry.get(), null, 'get must return null when there is nothing')
    }),

    entryCase('what was put is found, with the revision that put returned', async (entry, other) => {
      const revision = await create(entry, 'value')
      assert.deepEqual(plain(await other.get()), { value: 'value', revision })
      const next = await entry.put('another value', revision)
      assert.deepEqual(plain(await other.get()), { value: 'another value', revision: next })
    }),

    entryCase('put without an expected revision replaces nothing', async (entry, other) => {
      const revision = await create(entry, 'first')
      assert.equal(await other.put('second', null), null, 'put must return null when there is something already')
      assert.deepEqual(plain(await entry.get()), { value: 'first', revision })
    }),

    entryCase('put with a revision that is not there changes nothing', async (entry, other) => {
      assert.equal(await entry.put('value', 'no such revision'), null, 'put must return null when there is nothing with that revision')
      assert.equal(await entry.get(), null)
      const first = await create(entry, 'first')
      const second = await entry.put('second', first)
      assert.equal(await other.put('third', first), null, 'put must return null for a revision that was replaced')
      assert.deepEqual(plain(await entry.get()), { value: 'second', revision: second })
    }),

    entryCase('delete with a revision that is not there deletes nothing', async (entry, other) => {
      assert.equal(await entry.delete('no such revision'), false, 'delete must return false when there is nothing')
      const first = await create(entry, 'first')
      const second = await entry.put('second', first)
      assert.equal(await other.delete(first), false, 'delete must return false for a revision that was replaced')
      assert.deepEqual(plain(await entry.get()), { value: 'second', revision: second })
    }),

    entryCase('delete with the right revision deletes, once', async (entry, other) => {
      const revision = await create(entry, 'value')
      assert.equal(await entry.delete(revision), true, 'delete must return true when it deleted')
      assert.equal(await other.get(), null, 'what was deleted must be gone')
      assert.equal(await other.delete(revision), false, 'delete must return false the second time')
    }),

    entryCase('of 1,000 that create at once, one wins', async (entry, other) => {
      const revisions = await atOnce(1000, [entry, other], async (entry, i) => await entry.put(`value ${i}`, null))
      assertOneWinner(revisions, revisions.filter(revision => revision !== null))
      const winner = revisions.findIndex(revision => revision !== null)
      assert.deepEqual(plain(await entry.get()), { value: `value ${winner}`, revision: revisions[winner] })
    }),

    entryCase('of 1,000 that replace at once, one wins', async (entry, other) => {
      const first = await create(entry, 'first')
      const revisions = await atOnce(1000, [entry, other], async (entry, i) => await entry.put(`value ${i}`, first))
      assertOneWinner(revisions, revisions.filter(revision => revision !== null))
      const winner = revisions.findIndex(revision => revision !== null)
      assert.deepEqual(plain(await entry.get()), { value: `value ${winner}`, revision: revisions[winner] })
    }),

    entryCase('of 50 that delete at once, one does', async (entry, other) => {
      const revision = await create(entry, 'value')
      const deleted = await atOnce(50, [entry, other], async entry => await entry.delete(revision))
      assertOneWinner(deleted, deleted.filter(Boolean))
    }),

    entryCase('of a delete and a put of the same revision, one wins', async (entry, other) => {
      for (let i = 0; i < 50; i++) {
        const revision = await create(entry, 'value')
        const [deleted, put] = await Promise.all([entry.delete(revision), other.put('other', revision)])
        assert.notEqual(deleted, put !== null, 'either delete or put must win, and not both')
        const found = await entry.get()
        assert.equal(found?.revision ?? null, put, 'what is there must be what won')
        if (put !== null) await entry.delete(put)
      }
    }),

    entryCase('50 that read, add one and write until they have won lose no addition', async (entry, other) => {
      await create(entry, '0')
      await atOnce(50, [entry, other], async entry => {
        for (let won = false; !won;) {
          const { value, revision } = (await entry.get())!
          won = await entry.put(String(Number(value) + 1), revision) !== null
        }
      })
      assert.equal((await entry.get())?.value, '50')
    }),

    entryCase('every write gives a new revision, for an equal value too', async entry => {
      const first = await create(entry, 'value')
      const second = await entry.put('value', first)
      assert.equal(typeof second, 'string', 'put must return a revision')
      assert.notEqual(second, first)
    }),

    entryCase('a revision never comes back, not even after a delete', async (entry, other) => {
      const revisions = new Set<Revision>()
      for (let i = 0; i < 20; i++) {
        const first = await create(entry, 'value')
        const second = (await entry.put('value', first))!
        assert.equal(await other.delete(second), true)
        for (const revision of [first, second]) {
          assert.ok(!revisions.has(revision), 'a revision was given for the second time')
          revisions.add(revision)
        }
      }
      await create(entry, 'value')
      for (const revision of revisions) assert.equal(await other.put('late', revision), null, 'put must lose with a revision of before the delete')
      assert.equal((await entry.get())?.value, 'value')
    }),

    entryCase('large values, and values that look like something else, stay what they are', async (entry, other) => {
      const printable = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).join('')
      let revision: Revision | null = null
      for (const value of [printable, 'null', 'undefined', '{}', '0', '007', '1e3', ' padded ', "'; --", '%s', 'a'.repeat(65_536)]) {
        revision = await entry.put(value, revision)
        assert.notEqual(revision, null, 'put must win')
        assert.equal((await other.get())?.value, value)
      }
    })
  ]
}

async function create (entry: Entry, value: string): Promise<Revision> {
  const revision = await entry.put(value, null)
  assert.equal(typeof revision, 'string', 'put must return a revision, which is a string, when there was nothing')
  return revision!
}

function assertOneWinner (all: readonly unknown[], winners: readonly unknown[]): void {
  assert.equal(winners.length, 1, `of ${all.length} at once one must win, and ${winners.length} have`)
}

/** Without what a driver may have added. */
function plain (stored: Stored | null): Stored | null {
  return stored === null ? null : { value: stored.value, revision: stored.revision }
}
