import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { migratePostgres, migrateSqlite, postgresMigrations, postgresStore, redisStore, sqliteMigrations, sqliteStore } from '../../lib/index.js'
import { createStorage, lastingKinds, openPool, openSqlite } from '../fixtures/stores.js'

const missing = (mend: string) => ({ code: 'FST_MCP_CONNECT_SCHEMA_MISSING', message: `call ${mend}` })
const kinds = await lastingKinds(t)

/** Fails on whatever is done with it. */
const untouchable = (options?: object): never => new Proxy({}, {
  get: (_target, name) => name === 'options' ? options : () => { throw new Error(`${String(name)} was used`) }
}) as never

t.test('a constructor does no I/O', async t => {
  t.doesNotThrow(() => sqliteStore(untouchable()))
  t.doesNotThrow(() => redisStore(untouchable()))
  t.doesNotThrow(() => postgresStore(untouchable({ max: 2 })))
  t.throws(() => postgresStore(untouchable({ max: 1 })), { code: 'FST_MCP_CONNECT_OPTIONS', message: /a max of 2 or more/ })
})

t.test('SQLite: several processes begin with a new file at once', async t => {
  const child = (path: string): string => `
    const { openSqlite } = await import(${JSON.stringify(new URL('../fixtures/stores.ts', import.meta.url).href)})
    const { migrateSqlite, sqliteStore } = await import(${JSON.stringify(new URL('../../lib/index.ts', import.meta.url).href)})
    process.send('ready')
    process.on('message', async () => {
      for (const path of ${path}) {
        const db = openSqlite(path)
        migrateSqlite(db)
        await sqliteStore(db).vault.put('o', String(process.pid), 'v', null)
        db.close()
      }
      process.disconnect()
    })`
  const paths = Array.from({ length: 20 }, (_, i) => join(t.testdir(), `${i}.db`))
  const children = Array.from({ length: 3 }, () =>
    spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', child(JSON.stringify(paths))], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] }))
  const errors = children.map(({ stderr }) => text(stderr!))
  await Promise.all(children.map(async child => await once(child, 'message')))
  for (const child of children) child.send('go')
  await Promise.all(children.map(async child => await once(child, 'close')))
  for (const error of errors) t.notMatch(await error, /Error/)
  for (const path of paths) {
    const db = openSqlite(path)
    t.match(db.prepare('PRAGMA journal_mode').get(), { journal_mode: 'wal' })
    t.match(db.prepare('SELECT count(*) AS rows FROM mcp_connect_vault').get(), { rows: children.length })
    db.close()
  }
})

t.test('SQLite: migrating, twice, and by several connections', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-connect-test-'))
  const dbs = Array.from({ length: 3 }, () => openSqlite(join(folder, 'connect.db')))
  t.teardown(() => {
    for (const db of dbs) db.close()
    rmSync(folder, { recursive: true })
  })
  const [db, other] = dbs as [typeof dbs[0], typeof dbs[0]]
  await t.rejects(sqliteStore(db).vault.get('o', 'n'), missing('migrateSqlite(db)'))
  const early = sqliteStore(other)
  await t.rejects(early.state.get('k'), missing('migrateSqlite(db)'))
  for (const one of dbs) migrateSqlite(one)
  const { vault } = sqliteStore(db)
  const revision = await vault.put('o', 'n', 'v', null)
  migrateSqlite(db)
  t.strictSame(await vault.get('o', 'n'), { value: 'v', revision }, 'nothing is lost')
  t.equal(await early.state.get('k'), null, 'a store that was too early need not be made anew')
  t.match(db.prepare('PRAGMA journal_mode').get(), { journal_mode: 'wal' })
  db.exec(`UPDATE mcp_connect_schema SET version = ${sqliteMigrations.length + 1}`)
  t.throws(() => migrateSqlite(db), { code: 'FST_MCP_CONNECT_SCHEMA_NEWER', message: `version ${sqliteMigrations.length + 1}` })
  t.equal((await sqliteStore(db).vault.get('o', 'n'))?.value, 'v', 'while versions are rolled out, the older one goes on')
  db.exec('UPDATE mcp_connect_schema SET version = 0')
  t.throws(() => migrateSqlite(db), /already exists/)
  t.equal((await vault.get('o', 'n'))?.value, 'v', 'what fails half-way changes nothing')
  await t.rejects(sqliteStore(db).vault.get('o', 'n'), missing('migrateSqlite(db)'))
})

async function emptySchema (t: Test): Promise<string> {
  const { spec } = await createStorage(t, 'postgres')
  return (spec as { schema: string }).schema
}

if (kinds.includes('postgres')) {
  t.test('PostgreSQL: migrating, twice, and by many at once', async t => {
    const schema = await emptySchema(t)
    const pool = openPool(schema)
    t.teardown(() => pool.end())
    const store = postgresStore(pool)
    await t.rejects(store.vault.get('o', 'n'), missing('await migratePostgres(pool)'))
    await Promise.all(Array.from({ length: 8 }, () => migratePostgres(pool)))
    const revision = await store.vault.put('o', 'n', 'v', null)
    t.type(revision, 'string', 'a store that was too early need not be made anew')
    await migratePostgres(pool)
    t.strictSame(await store.vault.get('o', 'n'), { value: 'v', revision }, 'nothing is lost')
    await pool.query('UPDATE mcp_connect_schema SET version = version + 1')
    await t.rejects(migratePostgres(pool), { code: 'FST_MCP_CONNECT_SCHEMA_NEWER', message: `version ${postgresMigrations.length + 1}` })
    t.equal((await postgresStore(pool).vault.get('o', 'n'))?.value, 'v', 'while versions are rolled out, the older one goes on')
    const behind = openPool(`${await emptySchema(t)},${schema}`)
    t.teardown(() => behind.end())
    await t.rejects(postgresStore(behind).vault.get('o', 'n'), missing('await migratePostgres(pool)'), 'what a further schema of the search path has does not count')
    await pool.query('UPDATE mcp_connect_schema SET version = 0')
    await t.rejects(migratePostgres(pool), /already exists/)
    t.equal((await store.vault.get('o', 'n'))?.value, 'v', 'what fails half-way changes nothing')
    t.equal(pool.idleCount, pool.totalCount, 'every connection was given back')
  })
}
