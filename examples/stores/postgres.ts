import { migratePostgres, postgresStore } from 'fastify-mcp-connect'
import { Pool } from 'pg'

const pool = new Pool({ connectionString: process.env.DATABASE_URL })
pool.on('error', error => console.error(error)) // of idle connections: without it, they end the process
await migratePostgres(pool)
export const store = postgresStore(pool)
