import * as fc from 'fast-check'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { fuzz, type FuzzOptions, type Target } from './fuzz/fuzz.js'
import { parserTargets } from './fuzz/parsers.js'
import { routes } from './fuzz/routes.js'

/** Runs the fuzzer until it has found something, or the time is over. */
async function run (targets: readonly Target[], options: Partial<FuzzOptions> = {}): Promise<{ sound: boolean, told: string }> {
  const lines: string[] = []
  const sound = await fuzz(targets, { seconds: 30, seed: 1, shrink: false, tell: line => lines.push(line), ...options })
  return { sound, told: lines.join('\n') }
}

function parser (run: (input: string) => void): Target<string> {
  return {
    name: 'planted',
    inputs: fc.string(),
    round: 1000,
    async try (input) {
      run(input)
      return ['fine']
    }
  }
}

t.test('the fuzzer finds nothing wrong where nothing is, and tries every target', async t => {
  const targets = [...parserTargets(), routes('routes', { login: 'own' })]
  const { sound, told } = await run(targets, { seconds: 4 })
  t.ok(sound, told)
  for (const { name } of targets) t.match(told, new RegExp(`^${name}: [1-9]\\d* inputs, seed 1, [\\d.]+ s: [1-9]`, 'm'))
})

const PLANTED: Readonly<Record<string, { readonly spoil: (request: FastifyRequest, reply: FastifyReply) => unknown, readonly finds: RegExp }>> = {
  'a secret in the log': { spoil: request => { request.log.info({ seen: Buffer.from(String(request.headers.cookie)).toString('base64') }) }, finds: /cookie of (alice|bob|victim) stands in the log/ },
  'what was sent in the log': { spoil: request => { request.log.info(request.query) }, finds: /what was sent stands in the log/ },
  'what was sent in an answer': { spoil: ({ url }, reply) => { reply.header('x-seen', encodeURI(url)) }, finds: /what was sent comes back/ },
  'a failure of a parameter that comes twice': { spoil: ({ query }) => { if (Object.values(query as object).some(Array.isArray)) throw new Error('planted') }, finds: /status 500/ },
  'an answer that does not come': { spoil: ({ method }) => ['GET', 'POST'].includes(method) ? undefined : new Promise(() => {}), finds: /no end within 2000 ms/ },
  'a promise that nobody looks at': { spoil: ({ method }) => { if (!['GET', 'POST'].includes(method)) Promise.reject(new Error('planted')) }, finds: /crash: Error: planted/ }
}

for (const [what, { spoil, finds }] of Object.entries(PLANTED)) {
  t.test(`the fuzzer finds ${what}`, async t => {
    const { sound, told } = await run([routes('planted', { login: 'own', spoil }, 'inject')], { limitMs: 2000 })
    t.notOk(sound)
    t.match(told, finds)
    t.match(told, /Again: npm run test:fuzz -- --seed \d+ --only 'planted'/)
  })
}

t.test('the fuzzer finds it over a socket too', async t => {
  const { sound, told } = await run([routes('planted', { login: 'own', spoil: request => { request.log.info(request.headers) } }, 'socket')])
  t.notOk(sound)
  t.match(told, /stands in the log/)
})

t.test('the fuzzer shows the smallest input that fails', async t => {
  const { sound, told } = await run([parser(input => { if (input.length > 3) throw new Error('planted') })], { shrink: true })
  t.notOk(sound)
  t.match(told, /planted\n"[^"]{4,8}"\n/)
})

t.test('what blocks its thread for good is ended, and named', async t => {
  const script = `import { startWatchdog } from './test/fuzz/watchdog.js'
    startWatchdog(300).note('the input')
    for (;;) {}`
  const child = spawn(process.execPath, ['--import=tsx', '--input-type=module', '--eval', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  const [output, [, signal]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  t.equal(signal, 'SIGKILL')
  t.match(output, 'the input')
})
