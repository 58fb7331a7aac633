export { busContract } from './bus-contract.js'
export type { ContractCase } from './contract.js'
export { stateContract } from './state-contract.js'
export { vaultContract } from './vault-contract.js'
