export { mcpConnect, mcpConnect as default } from './plugin.js'
export { allowLoopbackHttp } from './loopback.js'
export { defineProvider } from './providers/define-provider.js'
export { github, type GithubRegistration } from './providers/github.js'
export { memoryStore } from './stores/memory.js'
export { postgresStore } from './stores/postgres.js'
export { migratePostgres, postgresMigrations, type PostgresClient, type PostgresPool, type PostgresResult } from './stores/postgres-schema.js'
export { redisStore, type RedisClient, type RedisStoreOptions, type RedisSubscriber } from './stores/redis.js'
export { sqliteStore } from './stores/sqlite.js'
export { migrateSqlite, sqliteMigrations, type SqliteDatabase, type SqliteStatement } from './stores/sqlite-schema.js'
export type {
  BrowserIdentity, BrowserUser, Bus, Claims, Connection, ConnectionOf, ContextOf, Guard, McpConnect, McpConnectOptions,
  McpConnectProviders, McpServerLike, Principal, Provider, ProviderDefinition, ProviderName, RequireOptions, ResealOptions, ResealReport, Revision,
  StateStore, Store, Stored, TokenVault
} from './types.js'
