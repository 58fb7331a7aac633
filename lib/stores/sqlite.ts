import { randomUUID } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import type { Store, Stored } from '../storage.js'
import { createListeners } from './listeners.js'
import { afterCursor, pageOf, type Position } from './page.js'
import { assertSqliteSchema, prepareConnection, type SqliteDatabase, type SqliteStatement } from './sqlite-schema.js'
import { createSweeper } from './sweeper.js'

const NOW = "CAST(unixepoch('subsec') * 1000 AS INTEGER)"
const NEVER = Number.MAX_SAFE_INTEGER
/** When a lifetime of so many milliseconds ends; `NULL` without one. */
const END = `${NOW} + CAST(? AS INTEGER)`

const VAULT_GET = 'SELECT value, revision FROM mcp_connect_vault WHERE owner = ? AND name = ?'
const VAULT_INSERT = 'INSERT INTO mcp_connect_vault (owner, name, value, revision) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING'
const VAULT_UPDATE = 'UPDATE mcp_connect_vault SET value = ?, revision = ? WHERE owner = ? AND name = ? AND revision = ?'
const VAULT_DELETE = 'DELETE FROM mcp_connect_vault WHERE owner = ? AND name = ? AND revision = ?'
const VAULT_LIST = 'SELECT owner, name FROM mcp_connect_vault WHERE (owner, name) > (?, ?) ORDER BY owner, name LIMIT ?'
const VAULT_LIST_OWNER = 'SELECT owner, name FROM mcp_connect_vault WHERE owner = ? AND name > ? ORDER BY name LIMIT ?'
const STATE_GET = `SELECT value, revision FROM mcp_connect_state WHERE key = ? AND expires_at > ${NOW}`
const STATE_INSERT = `INSERT INTO mcp_connect_state (key, value, revision, expires_at) VALUES (?, ?, ?, coalesce(${END}, ${NEVER}))
  ON CONFLICT (key) DO UPDATE SET value = excluded.value, revision = excluded.revision, expires_at = excluded.expires_at
  WHERE mcp_connect_state.expires_at <= ${NOW}`
const STATE_UPDATE = `UPDATE mcp_connect_state SET value = ?, revision = ?, expires_at = coalesce(${END}, expires_at)
  WHERE key = ? AND revision = ? AND expires_at > ${NOW}`
const STATE_DELETE = `DELETE FROM mcp_connect_state WHERE key = ? AND revision = ? AND expires_at > ${NOW}`
const COUNT = `INSERT INTO mcp_connect_counts (key, count, expires_at) VALUES (?, 1, ${END})
  ON CONFLICT (key) DO UPDATE SET
    count = CASE WHEN mcp_connect_counts.expires_at > ${NOW} THEN mcp_connect_counts.count + 1 ELSE 1 END,
    expires_at = CASE WHEN mcp_connect_counts.expires_at > ${NOW} THEN mcp_connect_counts.expires_at ELSE excluded.expires_at END
  RETURNING count, expires_at - ${NOW} AS resetMs`
const PUBLISH = `INSERT INTO mcp_connect_messages (message, expires_at) VALUES (?, ${END})`
const LATEST = 'SELECT coalesce(max(id), 0) AS id FROM mcp_connect_messages'
const NEXT = 'SELECT id, message FROM mcp_connect_messages WHERE id > ? ORDER BY id'

const EXPIRING = ['mcp_connect_state', 'mcp_connect_counts', 'mcp_connect_messages']
const SWEEP_SLICE = 50
const POLL_INTERVAL_MS = 200
const BUSY_TIMEOUT_MS = 4000
const BUSY_PAUSE_MS = 10
const MESSAGE_TTL_MS = 60_000

/**
 * While another process writes, SQLite says that it is busy; then others than this call have their turn before it tries again.
 * SQLite itself would wait with the event loop stopped.
 */
async function unlessBusy<T> (call: () => T): Promise<T> {
  const deadline = performance.now() + BUSY_TIMEOUT_MS
  for (;;) {
    try {
      return call()
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error
    }
    await setTimeout(BUSY_PAUSE_MS * Math.random())
  }
}

/** As the drivers tell it, which have no code in common. */
function isBusy (error: unknown): boolean {
  return error instanceof Error && /database (table )?is locked/.test(error.message)
}

/**
 * Keeps everything in a file of SQLite 3.42 or newer, which processes of one machine can share; `migrateSqlite(db)` makes its tables. Give it
 * a connection of its own, which stays yours to close.
 * @param db of `node:sqlite`, `better-sqlite3` or `libsql`
 */
export function sqliteStore (db: SqliteDatabase): Store {
  const statements = new Map<string, SqliteStatement>()
  const listeners = createListeners()
  let polling: Promise<NodeJS.Timeout> | undefined
  let heard = 0

  function statement (sql: string): SqliteStatement {
    if (statements.size === 0) {
      prepareConnection(db)
      assertSqliteSchema(db)
    }
    const prepared = statements.get(sql) ?? db.prepare(sql)
    statements.set(sql, prepared)
    return prepared
  }

  const get = async (sql: string, ...values: unknown[]): Promise<unknown> => await unlessBusy(() => statement(sql).get(...values))
  const all = async (sql: string, ...values: unknown[]): Promise<unknown[]> => await unlessBusy(() => statement(sql).all(...values))
  const run = async (sql: string, ...values: unknown[]): Promise<number> => Number((await unlessBusy(() => statement(sql).run(...values))).changes)
  const changes = async (sql: string, ...values: unknown[]): Promise<boolean> => await run(sql, ...values) > 0

  async function find (sql: string, ...values: unknown[]): Promise<Stored | null> {
    const row = await get(sql, ...values) as Stored | undefined
    return row === undefined ? null : { value: row.value, revision: row.revision }
  }

  async function startPolling (): Promise<NodeJS.Timeout> {
    heard = Number.MAX_SAFE_INTEGER     // nothing is new before it is known what is old
    heard = (await get(LATEST) as { id: number }).id
    return setInterval(() => { try { poll() } catch { /* the next poll tries again */ } }, POLL_INTERVAL_MS).unref()
  }

  function stopPolling (): void {
    if (listeners.size > 0) return
    polling?.then(clearInterval, () => {})
    polling = undefined
  }

  /** Hands out what other processes have published, and this one. */
  function poll (): void {
    for (const { id, message } of statement(NEXT).all(heard) as Array<{ id: number, message: string }>) {
      heard = id
      listeners.tell(message)
    }
  }

  const sweeper = createSweeper(async () => {
    let more = false
    for (const table of EXPIRING) {
      const sql = `DELETE FROM ${table} WHERE rowid IN (SELECT rowid FROM ${table} WHERE expires_at <= ${NOW} LIMIT ${SWEEP_SLICE})`
      more = await run(sql) === SWEEP_SLICE || more
    }
    return more
  })

  return {
    vault: {
      async get (owner, name) {
        return find(VAULT_GET, owner, name)
      },
      async put (owner, name, value, expected) {
        const revision = randomUUID()
        const written = expected === null
          ? await changes(VAULT_INSERT, owner, name, value, revision)
          : await changes(VAULT_UPDATE, value, revision, owner, name, expected)
        return written ? revision : null
      },
      async delete (owner, name, expected) {
        return changes(VAULT_DELETE, owner, name, expected)
      },
      async list ({ owner, cursor, limit }) {
        const after = afterCursor(cursor)
        const rows = owner === undefined
          ? await all(VAULT_LIST, after.owner, after.name, limit + 1)
          : await all(VAULT_LIST_OWNER, owner, after.name, limit + 1)
        return pageOf(rows as Position[], limit)
      }
    },

    state: {
      async get (key) {
        return find(STATE_GET, key)
      },
      async put (key, value, expected, ttlMs) {
        sweeper.start()
        const revision = randomUUID()
        const written = expected === null
          ? await changes(STATE_INSERT, key, value, revision, ttlMs ?? null)
          : await changes(STATE_UPDATE, value, revision, ttlMs ?? null, key, expected)
        return written ? revision : null
      },
      async delete (key, expected) {
        return changes(STATE_DELETE, key, expected)
      },
      async count (key, windowMs) {
        sweeper.start()
        const { count, resetMs } = await get(COUNT, key, windowMs) as { count: number, resetMs: number }
        return { count, resetMs }
      }
    },

    bus: {
      async publish (message) {
        sweeper.start()
        await changes(PUBLISH, message, MESSAGE_TTL_MS)
      },
      async subscribe (listener) {
        const remove = listeners.add(listener)
        const end = async (): Promise<void> => {
          remove()
          stopPolling()
        }
        try {
          await (polling ??= startPolling())
        } catch (error) {
          await end()
          throw error
        }
        return end
      }
    },

    async close () {
      listeners.clear()
      stopPolling()
      sweeper.close()
    }
  }
}
