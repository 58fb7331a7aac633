/*
 * The contracts, on adapters of the host's own, and fake providers.
 */
import { github, memoryStore, type Bus, type Provider, type StateStore, type TokenVault } from 'fastify-mcp-connect'
import { busContract, fakeOf, startFakeProvider, stateContract, vaultContract, type ContractCase, type FakeProvider } from 'fastify-mcp-connect/testing'
import { expect, type Equal } from './equal.js'

expect<Equal<typeof vaultContract, ReadonlyArray<ContractCase<TokenVault>>>>()
expect<Equal<typeof stateContract, ReadonlyArray<ContractCase<StateStore>>>>()
expect<Equal<typeof busContract, ReadonlyArray<ContractCase<Bus>>>>()

const store = memoryStore()
for (const contract of vaultContract) {
  const { run } = contract
  expect<Equal<typeof contract.name, string>>()
  await run(() => store.vault)
  await run(async () => store.vault)
  // @ts-expect-error A contract is tried on what it is about.
  await run(() => store.bus)
  // @ts-expect-error What makes an adapter is passed, not one adapter.
  await run(store.vault)
}

// Fake providers.
const fakes = await fakeOf(github({ clientId: 'client', clientSecret: 'secret' }), { refreshTokens: 'single-use' })
expect<Equal<typeof fakes.provider, Provider>>()
const { fake } = fakes
expect<Equal<typeof fake, FakeProvider>>()
expect<Equal<Awaited<ReturnType<typeof startFakeProvider>>, FakeProvider>>()
expect<Equal<typeof fake.counts.refreshes, number>>()
fake.next('refresh', 'limited', 2)
fake.decision = 'deny'
fake.account = { subject: 7 }
// @ts-expect-error It is no outcome.
fake.next('refresh', 'error')
// @ts-expect-error It is no way that a provider has.
await startFakeProvider({ refreshToken: 'none' })
// @ts-expect-error A preset is called.
await fakeOf(github)
// @ts-expect-error What has happened is not to be changed.
fake.counts.refreshes = 0
await fake.close()
