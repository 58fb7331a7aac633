import assert from 'node:assert/strict'
import type { Revision } from '../storage.js'
import { atOnce, contractCase, show, type ContractCase } from './contract.js'
import { assertDeleted, assertHolds, assertOneWinner, create, type Entries, type Entry } from './entry.js'

/** What compare-and-set promises to many at once. */
export function raceContract<T> (entries: Entries<T>): ReadonlyArray<ContractCase<T>> {
  const entryCase = (name: string, check: (one: Entry, other: Entry) => Promise<void>): ContractCase<T> =>
    contractCase<T>(name, async (...adapters) => await check(...entries(...adapters)))

  return [
    entryCase('of 1,000 that create at once, one wins', async (entry, other) => {
      const revisions = await atOnce(1000, [entry, other], async (entry, i) => await entry.put(`value ${i}`, null))
      await assertWinnerIsThere(entry, revisions)
    }),

    entryCase('of 1,000 that replace at once, one wins', async (entry, other) => {
      const first = await create(entry, 'first')
      const revisions = await atOnce(1000, [entry, other], async (entry, i) => await entry.put(`value ${i}`, first))
      await assertWinnerIsThere(entry, revisions)
    }),

    entryCase('of 50 that delete at once, one does', async (entry, other) => {
      const revision = await create(entry, 'value')
      const deleted = await atOnce(50, [entry, other], async entry => await entry.delete(revision))
      assertOneWinner(deleted, deleted.filter(Boolean))
    }),

    entryCase('of a delete and a put of the same revision, one wins', async (entry, other) => {
      for (let i = 0; i < 50; i++) {
        const revision = await create(entry, 'value')
        const [deleted, put] = i % 2 === 0
          ? await Promise.all([entry.delete(revision), other.put('other', revision)])
          : (await Promise.all([other.put('other', revision), entry.delete(revision)])).reverse() as [boolean, Revision | null]
        assert.notEqual(deleted, put !== null, `either delete or put must win, and not both; they returned ${show(deleted)} and ${show(put)}`)
        const found = await entry.get()
        assert.equal(found?.revision ?? null, put, `what is there must be what won, and get returned ${show(found)}`)
        if (put !== null) assertDeleted(await entry.delete(put), true, 'when the revision is there')
      }
    }),

    entryCase('50 that read, add one and write until they have won lose no addition', async (entry, other) => {
      await create(entry, '0')
      await atOnce(50, [entry, other], async entry => {
        let lost = 0
        for (let won = false; !won;) {
          const found = await entry.get()
          assert.ok(typeof found?.value === 'string', `get must return what is there, while others write too, and returned ${show(found)}`)
          won = await entry.put(String(Number(found.value) + 1), found.revision) !== null
          // Whoever loses has lost to a write of another one, and each of the 49 others makes one.
          if (!won) assert.ok(++lost < 50, 'put must lose to another write only, and lost more often than others wrote')
        }
      })
      const found = await entry.get()
      assert.equal(found?.value, '50', `no write that won may be lost: after 50 additions get must return the value '50', and returned ${show(found)}`)
    })
  ]
}

async function assertWinnerIsThere (entry: Entry, revisions: ReadonlyArray<Revision | null>): Promise<void> {
  assertOneWinner(revisions, revisions.filter(revision => revision !== null))
  const winner = revisions.findIndex(revision => revision !== null)
  await assertHolds(entry, `value ${winner}`, revisions[winner]!, 'which is what won')
}
