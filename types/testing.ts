/*
 * The contracts, on adapters of the host's own.
 */
import { memoryStore, type Bus, type StateStore, type TokenVault } from 'fastify-mcp-connect'
import { busContract, stateContract, vaultContract, type ContractCase } from 'fastify-mcp-connect/testing'
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
