import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'

// Two plain passes of the compiler; each half of dist/ says what its .js files are.
rmSync('dist', { recursive: true, force: true })
for (const [format, type] of [['esm', 'module'], ['cjs', 'commonjs']]) {
  execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', `tsconfig.${format}.json`], { stdio: 'inherit' })
  writeFileSync(`dist/${format}/package.json`, JSON.stringify({ type }) + '\n')
}
