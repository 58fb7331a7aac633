/*
 * Packs the package and uses it as a stranger would: publint, attw, how much an installation pulls in, and
 * applications in ESM and CommonJS that are compiled (types/consumers) and run against the installed tarball, with the
 * peers of our own development and with the oldest that package.json allows.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'

/** How many packages `npm install fastify-mcp-connect` may pull in, the peers aside. */
const PACKAGE_BUDGET = 20

const root = resolve(import.meta.dirname, '..')
const scratch = await mkdtemp(join(tmpdir(), 'fastify-mcp-connect-'))
const consumer = join(scratch, 'consumer')

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

function compile (project, ...args) {
  return tool('tsc', '-p', join('consumers', project), ...args)
}

async function install (...args) {
  await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error', ...args])
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

async function elicits (app) {
  const answer = JSON.parse(await prints(app))
  assert.equal(answer.error?.code, -32042, `${app} got ${JSON.stringify(answer)}`)
}

async function applicationsRun () {
  await Promise.all([elicits('app.mjs'), elicits('app.cjs')])
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
    await install('--omit=dev', '--omit=peer', tarball)
    const count = await installedPackages()
    assert.ok(count <= PACKAGE_BUDGET, `${count} packages, more than the ${PACKAGE_BUDGET} that are allowed`)
    return `${count} packages of at most ${PACKAGE_BUDGET}`
  })

  await step('without the optional SDK', async () => {
    await install(await ours('fastify'), await ours('@types/node'), await ours('zod'))
    await assert.rejects(readdir(join(consumer, 'node_modules/@modelcontextprotocol')), 'the SDK was installed all the same')
    await compile('tsconfig.without-sdk.json')
    assert.equal(await prints('without-sdk.cjs'), 'https://mcp.example.com/connect')
  })

  await step('applications', async () => {
    await install(...await Promise.all(['@modelcontextprotocol/sdk', 'ioredis', 'libsql', 'pg', '@types/pg'].map(ours)))
    await Promise.all([compile('tsconfig.json'), compile('tsconfig.commonjs.json')])
    await Promise.all([compile('tsconfig.node16.json'), compile('tsconfig.bundler.json')])
    await applicationsRun()
  })

  await step('applications with the oldest peers', async () => {
    const { peerDependencies } = JSON.parse(await readFile(join(root, 'package.json')))
    const oldest = Object.entries(peerDependencies).map(([name, range]) => `${name}@${range.split(' ')[0].replace('^', '')}`)
    await install(...oldest)
    // Declarations of old SDKs import what they do not depend on.
    await Promise.all([compile('tsconfig.json', '--skipLibCheck'), compile('tsconfig.commonjs.json', '--skipLibCheck')])
    await applicationsRun()
    return oldest.join(', ')
  })
} finally {
  await rm(scratch, { recursive: true, force: true })
}
