import t, { type Test } from 'tap'
import { memoryStore, type Store } from '../../lib/index.js'
import { busContract, stateContract, vaultContract } from '../../lib/testing/index.js'
import { createStorage, lastingKinds } from '../fixtures/stores.js'

t.setTimeout(400_000)

async function keepContracts (t: Test, open: () => Promise<Store>): Promise<void> {
  for (const { name, run } of vaultContract) await t.test(`vault: ${name}`, () => run(async () => (await open()).vault))
  for (const { name, run } of stateContract) await t.test(`state: ${name}`, () => run(async () => (await open()).state))
  for (const { name, run } of busContract) await t.test(`bus: ${name}`, () => run(async () => (await open()).bus))
}

await t.test('memory', async t => {
  const store = memoryStore()
  t.teardown(() => store.close())
  await keepContracts(t, async () => store)
})

for (const kind of await lastingKinds(t)) {
  await t.test(kind, async t => {
    const storage = await createStorage(t, kind)
    const stores = [await storage.open(), await storage.open()]
    let opened = 0
    await keepContracts(t, async () => stores[opened++ % 2]!)
  })
}
