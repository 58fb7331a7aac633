import { migrateSqlite, sqliteStore } from 'fastify-mcp-connect'
import Database from 'libsql' // or better-sqlite3; or, where Node brings it (22.13), DatabaseSync of node:sqlite

const db = new Database('connect.db')
migrateSqlite(db)
export const store = sqliteStore(db)
