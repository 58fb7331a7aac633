/*
 * The clients of the host, as their own packages declare them.
 */
import { Cluster, Redis } from 'ioredis'
import Libsql from 'libsql'
import { Client, Pool } from 'pg'
import { migratePostgres, migrateSqlite, postgresMigrations, postgresStore, redisStore, sqliteMigrations, sqliteStore, type Store } from 'fastify-mcp-connect'
import { expect, type Equal } from './equal.js'

declare const database: Libsql.Database
declare const redis: Redis
declare const cluster: Cluster
declare const pool: Pool
declare const client: Client

export const stores: Store[] = [
  sqliteStore(database), redisStore(redis), redisStore(cluster), redisStore(redis, { prefix: 'connect:' }), postgresStore(pool)
]

expect<Equal<ReturnType<typeof migrateSqlite>, void>>()
expect<Equal<ReturnType<typeof migratePostgres>, Promise<void>>>()
expect<Equal<typeof sqliteMigrations, readonly string[]>>()
expect<Equal<typeof postgresMigrations, readonly string[]>>()
migrateSqlite(database)
await migratePostgres(pool)

// @ts-expect-error One connection is no pool: listening would take the only one.
postgresStore(client)
// @ts-expect-error An address is no client.
redisStore('redis://127.0.0.1')
// @ts-expect-error The option is called prefix.
redisStore(redis, { keyPrefix: 'connect:' })
// @ts-expect-error A path is no database.
sqliteStore('connect.db')
