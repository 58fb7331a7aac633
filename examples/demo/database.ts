import type { SqliteDatabase } from 'fastify-mcp-connect'
import { createRequire } from 'node:module'

export interface DemoDatabase extends SqliteDatabase {
  close (): unknown
}

type DatabaseClass = new (path: string) => DemoDatabase

/** A path that stands for a database in memory, which nobody else can open. */
export const inMemory = ':memory:'

/** Opens an SQLite file, which is made if it is missing: by the driver that this Node.js brings, or else by libsql. */
export function openSqlite (path: string): DemoDatabase {
  const builtin = process.getBuiltinModule('node:sqlite') as { DatabaseSync: DatabaseClass } | undefined
  const Database = builtin?.DatabaseSync ?? createRequire(import.meta.url)('libsql') as DatabaseClass
  return new Database(path)
}

/** Opens an SQLite file that several parts of the demo write to: they wait for each other. */
export function openDatabase (path: string): DemoDatabase {
  const database = openSqlite(path)
  database.exec('PRAGMA busy_timeout = 5000')
  return database
}
