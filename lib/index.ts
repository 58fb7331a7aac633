export { mcpConnect, mcpConnect as default } from './plugin.js'
export { allowLoopbackHttp } from './loopback.js'
export { oidcLogin } from './oidc-login.js'
export { defineProvider } from './providers/define-provider.js'
export { github, type GithubRegistration } from './providers/github.js'
export { memoryStore } from './stores/memory.js'
export { postgresStore } from './stores/postgres.js'
export { migratePostgres, postgresMigrations, type PostgresClient, type PostgresPool, type PostgresResult } from './stores/postgres-schema.js'
export { redisStore, type RedisClient, type RedisStoreOptions, type RedisSubscriber } from './stores/redis.js'
export { sqliteStore } from './stores/sqlite.js'
export { migrateSqlite, sqliteMigrations, type SqliteDatabase, type SqliteStatement } from './stores/sqlite-schema.js'
export type { AuditEvent, AuditEventName, AuditEvents, AuditIds } from './audit-events.js'
export type { Bus, Revision, StateStore, Store, Stored, TokenVault } from './storage.js'
export type { ConnectionOf, ContextOf, Guard, McpConnect, McpConnectProviders, McpServerLike, ProviderName, RequireOptions, ResealOptions, ResealReport } from './decorator.js'
export type {
  Account, BrowserIdentity, BrowserUser, Claims, ClientKey, ClientRegistration, Connection, LimitOption, Limits, McpConnectOptions, OidcLogin, OidcLoginOptions,
  Principal, Provider, ProviderDefinition, RegistrationOptions
} from './types.js'
