import { Cluster, Redis } from 'ioredis'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { reservePort } from '../../examples/demo/ports.js'
import { redisStore } from '../../lib/index.js'
import { busContract, stateContract, vaultContract } from '../../lib/testing/index.js'
import { leaveOut } from '../fixtures/leave-out.js'

/** A cluster of one node: it refuses a script whose keys may lie on different nodes, as any cluster does. */
const folder = mkdtempSync(join(tmpdir(), 'mcp-connect-test-'))
// The bus of the cluster would be at its port + 10,000, where there may be none.
const [{ port, release }, bus] = [await reservePort(0), await reservePort(0)]
await Promise.all([release(), bus.release()])
const server = spawn('redis-server', ['--port', String(port), '--cluster-port', String(bus.port), '--bind', '127.0.0.1', '--cluster-enabled', 'yes',
  '--cluster-announce-ip', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'no'])
t.teardown(() => {
  server.removeAllListeners('close').kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})
let said = ''
for (const output of [server.stdout, server.stderr]) output.on('data', data => { said += data })
const endedEarly = (): string => `redis-server ended early: ${said.trim().split('\n').slice(-3).join('\n')}`
const installed = await new Promise<boolean>((resolve, reject) => {
  server.on('error', () => resolve(false))
  server.on('close', () => reject(new Error(endedEarly())))
  server.stdout.on('data', () => { if (said.includes('Ready to accept connections')) resolve(true) })
})

if (installed) {
  const admin = new Redis(port)
  await admin.cluster('ADDSLOTSRANGE', 0, 16_383)
  for (let i = 0; !String(await admin.cluster('INFO')).includes('cluster_state:ok') && i < 1000; i++) await new Promise(resolve => setTimeout(resolve, 10))
  await t.rejects(admin.mget('a', 'b'), /CROSSSLOT/, 'it is a cluster')
  admin.disconnect()

  const cluster = new Cluster([{ host: '127.0.0.1', port }])
  server.on('close', () => {
    t.fail(endedEarly())
    cluster.disconnect()     // which fails what waits for it
  })
  const store = redisStore(cluster)
  t.teardown(async () => {
    await store.close()
    cluster.disconnect()
  })
  for (const { name, run } of vaultContract) await t.test(`vault: ${name}`, () => run(() => store.vault))
  for (const { name, run } of stateContract) await t.test(`state: ${name}`, () => run(() => store.state))
  for (const { name, run } of busContract) await t.test(`bus: ${name}`, () => run(() => store.bus))
} else {
  leaveOut(t, 'with a Redis cluster', 'install redis-server')
}
