/*
 * An ESM application that gives each store the client of its package. It prints which stores it could make: they do not
 * connect before they are used.
 */
import { postgresStore, redisStore, sqliteStore, type Store } from 'fastify-mcp-connect'
import { Cluster, Redis } from 'ioredis'
import Database from 'libsql'
import pg from 'pg'

const client = new Redis({ lazyConnect: true })
const cluster = new Cluster([], { lazyConnect: true })
const database = new Database(':memory:')
const pool = new pg.Pool()

const stores: Record<string, Store> = {
  sqlite: sqliteStore(database), redis: redisStore(client), cluster: redisStore(cluster), postgres: postgresStore(pool)
}
console.log(Object.keys(stores).join())
for (const store of Object.values(stores)) await store.close()
await pool.end()
database.close()
