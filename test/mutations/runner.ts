import { spawn } from 'node:child_process'
import { readFileSync, realpathSync, rmSync } from 'node:fs'
import { cp, mkdtemp, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { mutate, type Mutation } from './mutation.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const LEFT_OUT = ['node_modules', '.git', '.tap', 'dist']
/** The tests' own limit, after which a mutation that makes one hang is noticed by that test; and how much longer the process may take to end. */
const TIMEOUT_MS = 120_000
const GRACE_MS = 30_000

/** What the tests said of a mutation; `broken`: a file did not load, or did not end, which tells nothing of the control. */
export type Result =
  | { readonly kind: 'killed', readonly test: string, readonly title: string }
  | { readonly kind: 'survived' | 'stale' }
  | { readonly kind: 'broken', readonly output: string }

/** A copy of the tree, in which one file after the other is changed. */
export interface Sandbox {
  /**
   * Runs the files in this order, until a test turns red. `survived` when none does.
   * @param timeoutOf how long the tests of a file may take, in milliseconds
   */
  run (tests: readonly string[], timeoutOf?: (test: string) => number): Promise<Result>
  /** Runs the tests of a mutation with it, and takes it back. */
  tryOut (mutation: Mutation, timeoutOf?: (test: string) => number): Promise<Result>
  /** Happens at the latest when the process ends. */
  remove (): void
}

export async function createSandbox (): Promise<Sandbox> {
  const directory = await mkdtemp(join(tmpdir(), 'mutations-'))
  const remove = (): void => rmSync(directory, { recursive: true, force: true })
  process.once('exit', remove)
  await cp(ROOT, directory, { recursive: true, filter: source => !LEFT_OUT.includes(basename(source)) })
  await symlink(realpathSync(join(ROOT, 'node_modules')), join(directory, 'node_modules'))

  const writeAll = async (texts: ReadonlyMap<string, string>): Promise<void> => {
    for (const [file, text] of texts) await writeFile(join(directory, file), text)
  }

  const sandbox: Sandbox = {
    async run (tests, timeoutOf = () => TIMEOUT_MS) {
      for (const test of tests) {
        const result = await runFile(directory, test, timeoutOf(test))
        if (result.kind !== 'survived') return result
      }
      return { kind: 'survived' }
    },

    async tryOut (mutation, timeoutOf) {
      const original = new Map<string, string>()
      const mutated = mutate(mutation, file => {
        const text = readFileSync(join(directory, file), 'utf8')
        original.set(file, text)
        return text
      })
      if (mutated === null) return { kind: 'stale' }
      await writeAll(mutated)
      try {
        return await sandbox.run(mutation.tests, timeoutOf)
      } finally {
        await writeAll(original)
      }
    },

    remove
  }
  return sandbox
}

/** Each file is a program that writes TAP; `tap` itself takes as long again to start. */
async function runFile (directory: string, test: string, timeoutMs: number): Promise<Result> {
  const child = spawn(process.execPath, ['--import=tsx', test], {
    cwd: directory,
    env: { ...withoutTap(process.env), TAP_BAIL: '1', TAP_TIMEOUT: String(Math.ceil(timeoutMs / 1000)) },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: timeoutMs + GRACE_MS,
    killSignal: 'SIGKILL'
  })
  const output: string[] = []
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => output.push(text))
  const status = await new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve))
  const title = redTitle(output.join(''))
  if (title !== undefined) return { kind: 'killed', test, title }
  return status === 0 ? { kind: 'survived' } : { kind: 'broken', output: output.join('').trim() }
}

/** This may run as a test itself. */
function withoutTap (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('TAP') && name !== 'NODE_OPTIONS'))
}

/** The test in which something is not ok, or whose end the watch over it (test/fixtures/watch.ts) has failed. What fails outside of all tests is a file that does not load. */
export function redTitle (tap: string): string | undefined {
  let title: string | undefined
  for (const line of tap.split('\n')) {
    if (line.startsWith('# Subtest: ')) title = line.slice('# Subtest: '.length)
    else if (line === '# error thrown in teardown') return title
    else if (/^(not )?ok /.test(line)) title = undefined
    else if (/^ +not ok (?!.*# (TODO|SKIP))/i.test(line)) return title
  }
  return undefined
}
