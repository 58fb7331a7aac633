import { Cluster, Redis } from 'ioredis'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { reservePort } from '../../examples/demo/ports.js'
import { redisStore } from '../../lib/index.js'
import { busContract, stateContract, vaultContract } from '../../lib/testing/index.js'

/** A cluster of one node: it refuses a script whose keys may lie on different nodes, as any cluster does. */
const folder = mkdtempSync(join(tmpdir(), 'mcp-connect-test-'))
const { port, release } = await reservePort(0)
await release()
const server = spawn('redis-server', ['--port', String(port), '--bind', '127.0.0.1', '--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'no'])
const started = await new Promise<boolean>(resolve => {
  server.on('error', () => resolve(false))
  server.stdout.on('data', data => { if (String(data).includes('Ready to accept connections')) resolve(true) })
})
t.teardown(() => {
  server.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

if (started) {
  const admin = new Redis(port)
  await admin.cluster('ADDSLOTSRANGE', 0, 16_383)
  for (let i = 0; !String(await admin.cluster('INFO')).includes('cluster_state:ok') && i < 1000; i++) await new Promise(resolve => setTimeout(resolve, 10))
  await t.rejects(admin.mget('a', 'b'), /CROSSSLOT/, 'it is a cluster')
  admin.disconnect()

  const cluster = new Cluster([{ host: '127.0.0.1', port }])
  const store = redisStore(cluster)
  t.teardown(async () => {
    await store.close()
    cluster.disconnect()
  })
  for (const { name, run } of vaultContract) await t.test(`vault: ${name}`, () => run(() => store.vault))
  for (const { name, run } of stateContract) await t.test(`state: ${name}`, () => run(() => store.state))
  for (const { name, run } of busContract) await t.test(`bus: ${name}`, () => run(() => store.bus))
} else if (process.env['CI'] === 'true') {
  t.fail('redis-server is missing, and CI leaves nothing out')
} else {
  t.pass('left out: the tests with a Redis cluster. To include them, install redis-server')
  console.error('LEFT OUT: the tests with a Redis cluster. To include them, install redis-server.')
}
