import { randomUUID } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { OptionsError } from '../errors.js'
import type { Store, Stored } from '../storage.js'
import { withTimeout } from '../with-timeout.js'
import { afterCursor, pageOf } from './page.js'
import { createPostgresListener } from './postgres-listener.js'
import { assertPostgresSchema, type PostgresPool, type PostgresResult } from './postgres-schema.js'
import { createSweeper } from './sweeper.js'

const after = (parameter: string): string => `now() + ${parameter}::float8 * interval '1 millisecond'`

const VAULT_GET = 'SELECT value, revision FROM mcp_connect_vault WHERE owner = $1 AND name = $2'
const VAULT_INSERT = 'INSERT INTO mcp_connect_vault (owner, name, value, revision) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING'
const VAULT_UPDATE = 'UPDATE mcp_connect_vault SET value = $3, revision = $4 WHERE owner = $1 AND name = $2 AND revision = $5'
const VAULT_DELETE = 'DELETE FROM mcp_connect_vault WHERE owner = $1 AND name = $2 AND revision = $3'
const VAULT_LIST = 'SELECT owner, name FROM mcp_connect_vault WHERE (owner, name) > ($1, $2) ORDER BY owner, name LIMIT $3'
const VAULT_LIST_OWNER = 'SELECT owner, name FROM mcp_connect_vault WHERE owner = $1 AND name > $2 ORDER BY name LIMIT $3'
const STATE_GET = 'SELECT value, revision FROM mcp_connect_state WHERE key = $1 AND expires_at > now()'
const STATE_INSERT = `INSERT INTO mcp_connect_state AS old (key, value, revision, expires_at) VALUES ($1, $2, $3, coalesce(${after('$4')}, 'infinity'))
  ON CONFLICT (key) DO UPDATE SET value = excluded.value, revision = excluded.revision, expires_at = excluded.expires_at
  WHERE old.expires_at <= now()`
const STATE_UPDATE = `UPDATE mcp_connect_state SET value = $2, revision = $3, expires_at = coalesce(${after('$4')}, expires_at)
  WHERE key = $1 AND revision = $5 AND expires_at > now()`
const STATE_DELETE = 'DELETE FROM mcp_connect_state WHERE key = $1 AND revision = $2 AND expires_at > now()'
const COUNT = `INSERT INTO mcp_connect_counts AS old (key, count, expires_at) VALUES ($1, 1, ${after('$2')})
  ON CONFLICT (key) DO UPDATE SET
    count = CASE WHEN old.expires_at > now() THEN old.count + 1 ELSE 1 END,
    expires_at = CASE WHEN old.expires_at > now() THEN old.expires_at ELSE excluded.expires_at END
  RETURNING count::int, least(ceil(extract(epoch FROM expires_at - now()) * 1000), $2)::int AS "resetMs"`

const EXPIRING = ['mcp_connect_state', 'mcp_connect_counts']
const SWEEP_SLICE = 1000
const CHECK_TIMEOUT_MS = 10_000
const SERIALIZATION_TIMEOUT_MS = 5000
const SERIALIZATION_PAUSE_MS = 5

/**
 * With a stricter isolation than PostgreSQL's default (`default_transaction_isolation`), a statement that meets another one fails
 * instead of looking again (40001, 40P01); sent again, it looks.
 */
async function unlessSerialization<T> (send: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + SERIALIZATION_TIMEOUT_MS
  for (;;) {
    try {
      return await send()
    } catch (error) {
      if (!['40001', '40P01'].includes((error as { code: string }).code) || performance.now() > deadline) throw error
    }
    await setTimeout(SERIALIZATION_PAUSE_MS * Math.random())
  }
}

/**
 * Keeps everything in PostgreSQL 12 or newer; `migratePostgres(pool)` makes its tables. The pool stays yours to end. Listening
 * takes one of its connections, which must not go through a pooler in transaction mode.
 * @param pool of `pg`, for two connections or more
 * @throws FST_MCP_CONNECT_OPTIONS when it is for one
 */
export function postgresStore (pool: PostgresPool): Store {
  if (pool.options?.max === 1) throw new OptionsError('the pool of postgresStore must have a max of 2 or more: one connection listens')
  const listener = createPostgresListener(pool)
  let checked: Promise<void> | undefined

  async function query (text: string, values?: unknown[]): Promise<PostgresResult> {
    const own = checked ??= withTimeout(unlessSerialization(() => assertPostgresSchema(pool)), CHECK_TIMEOUT_MS)
    try {
      await own
    } catch (error) {
      if (checked === own) checked = undefined
      throw error
    }
    return await unlessSerialization(() => pool.query(text, values))
  }

  const changes = async (text: string, values: unknown[]): Promise<boolean> => (await query(text, values)).rowCount === 1
  const find = async (text: string, values: unknown[]): Promise<Stored | null> => (await query(text, values)).rows[0] ?? null

  const sweeper = createSweeper(async () => {
    const slices = await Promise.all(EXPIRING.map(async table => await query(`DELETE FROM ${table} WHERE key IN (
      SELECT key FROM ${table} WHERE expires_at <= now() ORDER BY expires_at LIMIT ${SWEEP_SLICE} FOR UPDATE SKIP LOCKED)`)))
    return slices.some(({ rowCount }) => rowCount === SWEEP_SLICE)
  })

  return {
    vault: {
      get: (owner, name) => find(VAULT_GET, [owner, name]),
      async put (owner, name, value, expected) {
        const revision = randomUUID()
        const written = expected === null
          ? await changes(VAULT_INSERT, [owner, name, value, revision])
          : await changes(VAULT_UPDATE, [owner, name, value, revision, expected])
        return written ? revision : null
      },
      delete: (owner, name, expected) => changes(VAULT_DELETE, [owner, name, expected]),
      async list ({ owner, cursor, limit }) {
        const position = afterCursor(cursor)
        const { rows } = owner === undefined
          ? await query(VAULT_LIST, [position.owner, position.name, limit + 1])
          : await query(VAULT_LIST_OWNER, [owner, position.name, limit + 1])
        return pageOf(rows, limit)
      }
    },

    state: {
      get: key => find(STATE_GET, [key]),
      async put (key, value, expected, ttlMs) {
        sweeper.start()
        const revision = randomUUID()
        const written = expected === null
          ? await changes(STATE_INSERT, [key, value, revision, ttlMs])
          : await changes(STATE_UPDATE, [key, value, revision, ttlMs, expected])
        return written ? revision : null
      },
      delete: (key, expected) => changes(STATE_DELETE, [key, expected]),
      async count (key, windowMs) {
        sweeper.start()
        return (await query(COUNT, [key, windowMs])).rows[0]
      }
    },

    bus: listener.bus,

    async close () {
      listener.close()
      sweeper.close()
    }
  }
}
