import { execFile } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { promisify } from 'node:util'

// Two plain passes of the compiler; each half of dist/ says what its .js files are.
rmSync('dist', { recursive: true, force: true })
await Promise.all([['esm', 'module'], ['cjs', 'commonjs']].map(async ([format, type]) => {
  await promisify(execFile)(process.execPath, ['node_modules/typescript/bin/tsc', '-p', `tsconfig.${format}.json`])
  writeFileSync(`dist/${format}/package.json`, JSON.stringify({ type }) + '\n')
})).catch(({ stdout, message }) => {
  console.error(stdout || message)
  process.exitCode = 1
})
