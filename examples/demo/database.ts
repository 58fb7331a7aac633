import type { SqliteDatabase } from 'fastify-mcp-connect'

export interface DemoDatabase extends SqliteDatabase {
  close (): unknown
}

type DatabaseClass = new (path: string) => DemoDatabase

/** A path that stands for a database in memory, which nobody else can open. */
export const inMemory = ':memory:'

/** Opens an SQLite file, which is made if it is missing: by the driver that this Node.js brings, or else by libsql. */
export async function openDatabase (path: string): Promise<DemoDatabase> {
  const builtin = process.getBuiltinModule('node:sqlite') as { DatabaseSync: DatabaseClass } | undefined
  const Database = builtin?.DatabaseSync ?? (await import('libsql')).default as DatabaseClass
  const database = new Database(path)
  database.exec('PRAGMA busy_timeout = 5000')
  return database
}
