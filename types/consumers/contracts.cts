/*
 * A CommonJS test of a vault adapter. It prints how many promises have been tried.
 */
import { memoryStore } from 'fastify-mcp-connect'
import { vaultContract } from 'fastify-mcp-connect/testing'

async function main (): Promise<void> {
  const { vault } = memoryStore()
  for (const { run } of vaultContract) await run(() => vault)
  console.log(vaultContract.length)
}

main().catch(error => {
  console.error(error)
  process.exitCode = 1
})
