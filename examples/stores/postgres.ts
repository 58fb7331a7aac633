import { migratePostgres, postgresStore } from 'fastify-mcp-connect'
import { Pool } from 'pg'

const pool = new Pool({ connectionString: process.env.DATABASE_URL })
await migratePostgres(pool)
export const store = postgresStore(pool)
