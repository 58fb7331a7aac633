import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { createStorage, lastingKinds } from '../fixtures/stores.js'

/** Uses every part of a store, closes it and what it stands on, and then has nothing more to do. */
const script = (spec: unknown): string => `
  const { openStore } = await import(${JSON.stringify(new URL('../fixtures/stores.ts', import.meta.url).href)})
  const { store, close } = await openStore(${JSON.stringify(spec)})
  await store.state.put('k', 'v', null, 60_000)
  await store.state.count('k', 60_000)
  await store.vault.put('o', 'n', 'v', null)
  await store.bus.subscribe(() => {})
  await store.bus.publish('m')
  await store.close()
  await close()
  console.log('closed')`

for (const kind of await lastingKinds(t)) {
  t.test(`${kind}: close leaves no handle open, so that the process ends by itself`, async t => {
    const { spec } = await createStorage(t, kind)
    const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script(spec)], { timeout: 20_000 })
    t.equal(stdout.trim(), 'closed')
  })
}
