import { SchemaMissingError, SchemaNewerError } from '../errors.js'

/** What is needed of a database: `node:sqlite`, `better-sqlite3` and `libsql` have it. */
export interface SqliteDatabase {
  exec (sql: string): unknown
  prepare (sql: string): SqliteStatement
}

export interface SqliteStatement {
  get (...values: any[]): unknown
  all (...values: any[]): unknown[]
  run (...values: any[]): { readonly changes: number | bigint }
}

/**
 * The versions of the schema: the statements at index 0 make version 1 of an empty database, each further one makes the next
 * version of the one before. Those that have been published never change.
 */
export const sqliteMigrations: readonly string[] = [`
  CREATE TABLE mcp_connect_vault (
    owner TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, revision TEXT NOT NULL, PRIMARY KEY (owner, name)
  ) STRICT;
  CREATE TABLE mcp_connect_state (
    key TEXT PRIMARY KEY, value TEXT NOT NULL, revision TEXT NOT NULL, expires_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX mcp_connect_state_expiry ON mcp_connect_state (expires_at);
  CREATE TABLE mcp_connect_counts (
    key TEXT PRIMARY KEY, count INTEGER NOT NULL, expires_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX mcp_connect_counts_expiry ON mcp_connect_counts (expires_at);
  CREATE TABLE mcp_connect_messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT, message TEXT NOT NULL, expires_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX mcp_connect_messages_expiry ON mcp_connect_messages (expires_at);
`]

/**
 * Brings the schema to the newest version; to be called before the store is used, by each process or once by a deployment.
 * Sets the journal mode WAL, which stays with the file.
 * @throws FST_MCP_CONNECT_SCHEMA_NEWER when a newer version of this package has been here
 */
export function migrateSqlite (db: SqliteDatabase): void {
  prepareConnection(db)
  db.exec('PRAGMA journal_mode = WAL')
  db.exec('BEGIN IMMEDIATE')
  try {
    db.exec('CREATE TABLE IF NOT EXISTS mcp_connect_schema (version INTEGER NOT NULL) STRICT')
    const version = readVersion(db)
    if (version > sqliteMigrations.length) throw new SchemaNewerError('SQLite', String(version))
    for (const statements of sqliteMigrations.slice(version)) db.exec(statements)
    db.exec(`DELETE FROM mcp_connect_schema; INSERT INTO mcp_connect_schema VALUES (${sqliteMigrations.length})`)
    db.exec('COMMIT')
  } catch (error) {
    db.exec('ROLLBACK')
    throw error
  }
}

/**
 * Settings that belong to a connection: others that write are waited for, what is written survives a loss of power, and the
 * journal is taken into the file in small parts, since that holds up the event loop.
 */
export function prepareConnection (db: SqliteDatabase): void {
  db.exec('PRAGMA busy_timeout = 5000')
  db.exec('PRAGMA synchronous = FULL')
  db.exec('PRAGMA wal_autocheckpoint = 100')
}

/** @throws FST_MCP_CONNECT_SCHEMA_MISSING when the tables are not there, or are of an older version */
export function assertSqliteSchema (db: SqliteDatabase): void {
  const tables = db.prepare("SELECT name FROM sqlite_master WHERE name = 'mcp_connect_schema'").get()
  if (tables === undefined || readVersion(db) < sqliteMigrations.length) throw new SchemaMissingError('SQLite', 'migrateSqlite(db)')
}

function readVersion (db: SqliteDatabase): number {
  return (db.prepare('SELECT coalesce(max(version), 0) AS version FROM mcp_connect_schema').get() as { version: number }).version
}
