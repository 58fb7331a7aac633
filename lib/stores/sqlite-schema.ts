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
 * version of the one before, and they write down which it is. Those that have been published never change.
 */
export const sqliteMigrations: readonly string[] = [`
  CREATE TABLE mcp_connect_schema (version INTEGER NOT NULL) STRICT;
  INSERT INTO mcp_connect_schema VALUES (1);
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
  db.exec('PRAGMA busy_timeout = 5000')
  writeAhead(db)
  db.exec('BEGIN IMMEDIATE')
  try {
    const version = readVersion(db)
    if (version > sqliteMigrations.length) throw new SchemaNewerError('SQLite', String(version))
    for (const statements of sqliteMigrations.slice(version)) db.exec(statements)
    db.exec('COMMIT')
  } catch (error) {
    try { db.exec('ROLLBACK') } catch { /* SQLite has rolled back by itself, as it does on a full disk */ }
    throw error
  }
}

/** Of several that begin with a new file at once, SQLite lets all but one fail without waiting; those wait here and try again. */
function writeAhead (db: SqliteDatabase): void {
  try {
    db.exec('PRAGMA journal_mode = WAL')
  } catch {
    db.exec('BEGIN IMMEDIATE; COMMIT')
    db.exec('PRAGMA journal_mode = WAL')
  }
}

/**
 * Settings that belong to a connection: others that write are not waited for, since that holds up the event loop, what is
 * written survives a loss of power, and the journal is taken into the file in small parts, for the event loop's sake too.
 */
export function prepareConnection (db: SqliteDatabase): void {
  db.exec('PRAGMA busy_timeout = 0')
  db.exec('PRAGMA synchronous = FULL')
  db.exec('PRAGMA wal_autocheckpoint = 100')
}

/** @throws FST_MCP_CONNECT_SCHEMA_MISSING when the tables are not there, or are of an older version */
export function assertSqliteSchema (db: SqliteDatabase): void {
  if (readVersion(db) < sqliteMigrations.length) throw new SchemaMissingError('SQLite', 'migrateSqlite(db)')
}

/** 0 when there is none. */
function readVersion (db: SqliteDatabase): number {
  if (db.prepare("SELECT name FROM sqlite_master WHERE name = 'mcp_connect_schema'").get() === undefined) return 0
  return (db.prepare('SELECT coalesce(max(version), 0) AS version FROM mcp_connect_schema').get() as { version: number }).version
}
