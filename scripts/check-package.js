/*
 * Packs the package and uses it as a stranger would: publint, attw, how much an installation pulls in, an application that
 * follows the README alone, and applications in ESM and CommonJS that are compiled (types/consumers) and run against the
 * installed tarball, with the peers of our own development and with the oldest that package.json allows. Applications are
 * called, asked for a connection, given it, and called again.
 */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import { tsImport } from 'tsx/esm/api'

/** How many packages `npm install fastify-mcp-connect` may pull in, the peers aside. */
const PACKAGE_BUDGET = 20

/** How many lines an application of one's own may need, with its imports. */
const LINE_BUDGET = 25

const root = resolve(import.meta.dirname, '..')
const { startSurroundings } = await tsImport('./surroundings.ts', import.meta.url)
const scratch = await mkdtemp(join(tmpdir(), 'fastify-mcp-connect-'))
const consumer = join(scratch, 'consumer')
const stranger = join(scratch, 'stranger')

async function run (command, args, cwd = consumer) {
  try {
    const { stdout } = await promisify(execFile)(command, args, { cwd })
    return stdout
  } catch (error) {
    console.error(error.stdout + error.stderr)
    throw new Error(`failed: ${command} ${args.join(' ')}`)
  }
}

function tool (name, ...args) {
  return run(join(root, 'node_modules/.bin', name), args)
}

function compile (project) {
  return tool('tsc', '-p', join('consumers', project))
}

/** Checks no other declarations than this package's. */
function compileOwn (project) {
  return run(process.execPath, [join(root, 'scripts/compile.js'), join('consumers', project)])
}

async function install (args, cwd) {
  await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error', ...args], cwd)
}

/** The version of our own development, so that nothing new comes in between. */
async function ours (name) {
  const { version } = JSON.parse(await readFile(join(root, 'node_modules', name, 'package.json')))
  return `${name}@${version}`
}

async function packaged () {
  await run('npm', ['pack', '--pack-destination', scratch], root)
  const tarball = join(scratch, (await readdir(scratch)).find(name => name.endsWith('.tgz')))
  await cp(join(root, 'types/consumers'), join(consumer, 'consumers'), { recursive: true })
  await writeFile(join(consumer, 'package.json'), JSON.stringify({ private: true }))
  return tarball
}

async function installedPackages () {
  const { packages } = JSON.parse(await readFile(join(consumer, 'node_modules/.package-lock.json')))
  return Object.keys(packages).length
}

async function prints (app) {
  return (await run(process.execPath, [join('consumers/out', app)])).trim()
}

/** Runs an application and whatever it needs around it. What it prints is shown when something fails. */
async function withApplication (file, cwd, use) {
  const surroundings = await startSurroundings()
  const app = spawn(process.execPath, [file], { cwd, env: { ...process.env, ...surroundings.env }, timeout: 60_000 })
  const closed = once(app, 'close')
  const printed = []
  const lines = createInterface({ input: app.stdout }).on('line', line => printed.push(line))
  app.stderr.on('data', data => printed.push(String(data)))
  try {
    await use(surroundings, { app, lines, closed })
  } catch (error) {
    console.error([`${file} printed:`, ...printed].join('\n'))
    throw error
  } finally {
    app.kill()
    await surroundings.close()
  }
}

/** An application that calls its own tool, prints what comes back, and calls again once it is told that it may. */
async function connectsAndCalls (file) {
  await withApplication(join('consumers/out', file), consumer, async ({ follow }, { app, lines, closed }) => {
    const messages = []
    for await (const line of lines) {
      const message = JSON.parse(line)
      messages.push(message.error?.code ?? message.method ?? message.id)
      if (message.error?.code === -32042) await follow(message.error.data.elicitations[0].url)
      if (message.id !== 'second') continue
      assertIssues(message.result.content[0].text)
      app.kill()
    }
    assert.deepEqual(messages, [-32042, 'notifications/elicitation/complete', 'second'])
    assert.equal((await closed)[0], 0)
  })
}

/** A server and a client in one, which says what it would open in a browser, and what it has got in the end. */
async function opensAndGoesOn (file) {
  await withApplication(join('consumers/out', file), consumer, async ({ follow }, { lines, closed }) => {
    const said = []
    for await (const line of lines) {
      const message = JSON.parse(line)
      said.push(Object.keys(message)[0])
      if (message.open !== undefined) await follow(message.open)
      if (message.content !== undefined) assertIssues(message.content[0].text)
    }
    assert.deepEqual(said, ['open', 'content'])
    assert.equal((await closed)[0], 0)
  })
}

function assertIssues (text) {
  assert.match(text, /^{"account":"alice@acme\.example","issues":\[{"number":1,/)
}

/** In an empty folder: what the README says to install, and a file of one's own. */
async function strangerFollowsReadme (tarball) {
  await mkdir(stranger)
  await install([tarball, ...await Promise.all(['fastify', '@modelcontextprotocol/sdk'].map(ours))], stranger)
  const source = await readFile(join(root, 'types/consumers/stranger.mjs'), 'utf8')
  await writeFile(join(stranger, 'stranger.mjs'), source)
  const count = source.split('\n').filter(line => line.trim() !== '').length
  assert.ok(count <= LINE_BUDGET, `${count} lines, more than the ${LINE_BUDGET} that are allowed`)

  await withApplication('stranger.mjs', stranger, async ({ mcpUrl, follow, connect }, { app }) => {
    while (!await fetch(mcpUrl).then(({ status }) => status === 401, () => false)) {
      assert.equal(app.exitCode ?? app.signalCode, null, 'it has ended')
      await setTimeout(100)
    }
    const client = await connect()
    const first = await client.callTool('list-issues')
    assert.equal(first.wire?.code, -32042)
    await follow(first.requests[0].url)
    await client.completed(first.requests[0].elicitationId, { timeoutMs: 10_000 })
    const second = await client.callTool('list-issues')
    assert.deepEqual([second.kind, second.isError], ['result', false])
    assertIssues(second.text)
    await client.close()
  })
  return `${count} lines of at most ${LINE_BUDGET}`
}

async function applicationsRun () {
  await Promise.all([connectsAndCalls('app.mjs'), connectsAndCalls('app.cjs')])
  await Promise.all([opensAndGoesOn('v2.mjs'), opensAndGoesOn('v2.cjs')])
  assert.equal(await prints('stores.mjs'), 'sqlite,redis,cluster,postgres')
  assert.match(await prints('contracts.cjs'), /^[1-9]\d$/)
}

async function step (name, check) {
  const startedAt = Date.now()
  const note = await check()
  console.log(`${name}: ${note ?? 'ok'} (${((Date.now() - startedAt) / 1000).toFixed(1)} s)`)
}

try {
  const tarball = await packaged()

  await step('publint', async () => { await tool('publint', '--strict', tarball) })
  await step('attw', async () => { await tool('attw', '--profile', 'node16', tarball) })

  await step('installation', async () => {
    await install(['--omit=dev', '--omit=peer', tarball])
    const count = await installedPackages()
    assert.ok(count <= PACKAGE_BUDGET, `${count} packages, more than the ${PACKAGE_BUDGET} that are allowed`)
    return `${count} packages of at most ${PACKAGE_BUDGET}`
  })

  await step('a stranger', () => strangerFollowsReadme(tarball))

  await step('without the optional SDK', async () => {
    await install(await Promise.all(['fastify', '@types/node', 'zod'].map(ours)))
    await assert.rejects(readdir(join(consumer, 'node_modules/@modelcontextprotocol')), 'the SDK was installed all the same')
    await compileOwn('tsconfig.without-sdk.json')
    assert.equal(await prints('without-sdk.cjs'), 'https://mcp.example.com/connect')
  })

  await step('applications', async () => {
    await install(await Promise.all(['@modelcontextprotocol/sdk', '@modelcontextprotocol/server', '@modelcontextprotocol/client', 'ioredis', 'libsql', 'pg', '@types/pg'].map(ours)))
    await Promise.all([compile('tsconfig.json'), compile('tsconfig.commonjs.json')])
    await Promise.all([compileOwn('tsconfig.bundler.json'), ...['tsconfig.v2.json', 'tsconfig.v2-commonjs.json'].map(compileOwn)])
    await applicationsRun()
  })

  await step('applications with the oldest peers', async () => {
    const { peerDependencies } = JSON.parse(await readFile(join(root, 'package.json')))
    const oldest = Object.entries(peerDependencies).map(([name, range]) => `${name}@${range.split(' ')[0].replace('^', '')}`)
    await install(oldest)
    // Declarations of old SDKs import what they do not depend on.
    await Promise.all([compileOwn('tsconfig.json'), compileOwn('tsconfig.commonjs.json')])
    await applicationsRun()
    return oldest.join(', ')
  })
} finally {
  await rm(scratch, { recursive: true, force: true })
}
