import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { openSqlite } from '../../examples/demo/database.js'
import { migrateSqlite, sqliteStore, type Store } from '../../lib/index.js'
import { HOUR_MS, nameOf, ownerOf, randomValue, STATE_LENGTH, stateKey, VAULT_LENGTH } from './records.js'
import { inBatches, type Storage } from './storage.js'

const BATCH = 20_000

export async function openSqliteFile (): Promise<Storage> {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-connect-bench-'))
  const path = join(folder, 'connect.db')
  const db = openSqlite(path)
  migrateSqlite(db)
  const store = sqliteStore(db)

  /** By another connection, which has more cache and writes many at a time. */
  async function fill (count: number, put: (store: Store, i: number) => Promise<unknown>): Promise<void> {
    const bulk = openSqlite(path)
    bulk.exec('PRAGMA cache_size = -1000000')
    const bulkStore = sqliteStore(bulk)
    await bulkStore.state.get('first call')     // which sets what cannot be set within a transaction
    bulk.exec('BEGIN')
    await inBatches(count, BATCH, i => put(bulkStore, i), async () => {
      bulk.exec('COMMIT')
      await setImmediate()
      bulk.exec('BEGIN')
    })
    bulk.exec('COMMIT')
    await bulkStore.close()
    bulk.close()
  }

  return {
    store,
    fillState: count => fill(count, ({ state }, i) => state.put(stateKey('live', i), randomValue(STATE_LENGTH), null, HOUR_MS)),
    fillVault: count => fill(count, ({ vault }, i) => vault.put(ownerOf(i), nameOf(i), randomValue(VAULT_LENGTH), null)),
    addExpired: count => fill(count, ({ state }, i) => state.put(stateKey('gone', i), randomValue(STATE_LENGTH), null, -1)),
    countState: async () => (db.prepare('SELECT count(*) AS count FROM mcp_connect_state').get() as { count: number }).count,
    async bytes () {
      db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
      return statSync(path).size
    },
    async settle () {
      db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    },
    async close () {
      await store.close()
      db.close()
      rmSync(folder, { recursive: true, force: true })
    }
  }
}
