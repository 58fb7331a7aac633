import { randomBytes } from 'node:crypto'
import { migratePostgres, postgresStore } from '../../lib/index.js'
import { openPool } from '../../test/fixtures/stores.js'
import { SQL, STATE_LENGTH, VAULT_LENGTH } from './records.js'
import type { Storage } from './storage.js'

const CHUNK = 100_000
const TABLES = ['mcp_connect_state', 'mcp_connect_vault']

export async function openPostgresSchema (): Promise<Storage> {
  const schema = `mcp_connect_bench_${randomBytes(6).toString('hex')}`
  const pool = openPool(schema)
  await pool.query(`CREATE SCHEMA ${schema}`)
  await migratePostgres(pool)
  const store = postgresStore(pool)

  async function insert (count: number, select: string): Promise<void> {
    for (let first = 0; first < count; first += CHUNK) {
      await pool.query(`INSERT INTO ${select} FROM generate_series(${first}, ${Math.min(count, first + CHUNK) - 1}) AS i`)
    }
  }
  const insertState = (count: number, kind: string, expiry: string): Promise<void> =>
    insert(count, `mcp_connect_state SELECT ${SQL.stateKey(kind)}, ${SQL.value(STATE_LENGTH)}, gen_random_uuid(), now() + interval '${expiry}'`)

  return {
    store,
    fillState: count => insertState(count, 'live', '1 hour'),
    fillVault: count => insert(count, `mcp_connect_vault SELECT ${SQL.owner}, ${SQL.name}, ${SQL.value(VAULT_LENGTH)}, gen_random_uuid()`),
    addExpired: count => insertState(count, 'gone', '-1 second'),
    countState: async () => Number((await pool.query('SELECT count(*) FROM mcp_connect_state')).rows[0].count),
    async bytes () {
      const { rows: [{ bytes }] } = await pool.query(`SELECT ${TABLES.map(table => `pg_total_relation_size('${table}')`).join(' + ')} AS bytes`)
      return Number(bytes)
    },
    /** What autovacuum does in a while. Pages of an index that one run has emptied can be used again after the next, when transactions have gone on. */
    async settle () {
      for (const table of [...TABLES, ...TABLES]) {
        await pool.query('SELECT txid_current()')
        await pool.query(`VACUUM ANALYZE ${table}`)
      }
    },
    async close () {
      await store.close()
      await pool.query(`DROP SCHEMA ${schema} CASCADE`)
      await pool.end()
    }
  }
}
