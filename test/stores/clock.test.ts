import t from 'tap'
import { advance } from '../fixtures/clock.js'
import { createStorage, lastingKinds } from '../fixtures/stores.js'

for (const kind of await lastingKinds(t)) {
  t.test(`${kind}: the clock of the store decides about expiry, not that of the process`, async t => {
    const { state } = await (await createStorage(t, kind)).open()
    const first = await state.put('key', 'first', null, 60_000)
    await state.count('key', 60_000)
    advance(t, 3_600_000)
    t.equal((await state.get('key'))?.revision, first)
    t.match(await state.count('key', 60_000), { count: 2 })
    const second = await state.put('key', 'second', first, 60_000)
    t.type(second, 'string')
    t.equal(await state.delete('key', second!), true)
  })
}
