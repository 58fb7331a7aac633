import { SchemaMissingError, SchemaNewerError } from '../errors.js'

/** What is needed of a pool; that of `pg` has it. */
export interface PostgresPool {
  query (text: string, values?: any[]): Promise<PostgresResult>
  connect (): Promise<PostgresClient>
  readonly options?: { readonly max?: number | undefined }
}

export interface PostgresResult {
  readonly rows: any[]
  readonly rowCount: number | null
}

export interface PostgresClient {
  query (text: string, values?: any[]): Promise<PostgresResult>
  on (event: 'notification', listener: (message: { readonly payload?: string | undefined }) => void): unknown
  on (event: 'error', listener: (error: Error) => void): unknown
  off (event: 'error', listener: (error: Error) => void): unknown
  /** @param destroy closes the connection instead of giving it back */
  release (destroy?: boolean): void
}

/**
 * The versions of the schema: the statements at index 0 make version 1 of an empty schema, each further one makes the next
 * version of the one before, and they write down which it is. Those that have been published never change. The tables lie in
 * the first schema of `search_path`.
 *
 * Keys are compared byte by byte (collation "C"). What expires soon is vacuumed often, and pages keep room for updates in place.
 */
export const postgresMigrations: readonly string[] = [`
  CREATE TABLE mcp_connect_schema (version int NOT NULL);
  INSERT INTO mcp_connect_schema VALUES (1);
  CREATE TABLE mcp_connect_vault (
    owner text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL, value text NOT NULL, revision text NOT NULL, PRIMARY KEY (owner, name)
  );
  CREATE TABLE mcp_connect_state (
    key text COLLATE "C" PRIMARY KEY, value text NOT NULL, revision text NOT NULL, expires_at timestamptz NOT NULL
  ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
  CREATE INDEX mcp_connect_state_expiry ON mcp_connect_state (expires_at);
  CREATE TABLE mcp_connect_counts (
    key text COLLATE "C" PRIMARY KEY, count bigint NOT NULL, expires_at timestamptz NOT NULL
  ) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
  CREATE INDEX mcp_connect_counts_expiry ON mcp_connect_counts (expires_at);
`]

const LOCK = "SELECT pg_advisory_xact_lock(hashtext('mcp_connect'), hashtext(current_schema()))"
const VERSION = 'SELECT coalesce(max(version), 0)::int AS version FROM mcp_connect_schema'

/**
 * Brings the schema to the newest version; to be called before the store is used, by each process or once by a deployment.
 * Several may do so at once.
 * @throws FST_MCP_CONNECT_SCHEMA_NEWER when a newer version of this package has been here
 */
export async function migratePostgres (pool: PostgresPool): Promise<void> {
  const client = await pool.connect()
  const ignore = (): void => {}     // what is lost with the connection rejects, too
  client.on('error', ignore)
  let done = false
  try {
    await client.query('BEGIN ISOLATION LEVEL READ COMMITTED')     // whoever has waited for the lock sees what was done
    await client.query(LOCK)
    const version = await readVersion(client)
    if (version > postgresMigrations.length) throw new SchemaNewerError('PostgreSQL', String(version))
    for (const statements of postgresMigrations.slice(version)) await client.query(statements)
    await client.query('COMMIT')
    done = true
  } finally {
    client.off('error', ignore)
    client.release(!done)     // a connection that is closed rolls back
  }
}

/** @throws FST_MCP_CONNECT_SCHEMA_MISSING when the tables are not there, or are of an older version */
export async function assertPostgresSchema (pool: PostgresPool): Promise<void> {
  if (await readVersion(pool) < postgresMigrations.length) throw new SchemaMissingError('PostgreSQL', 'await migratePostgres(pool)')
}

/** 0 when there is none: not in the first schema of `search_path`, whatever further ones have. */
async function readVersion (client: Pick<PostgresPool, 'query'>): Promise<number> {
  const { rows: [{ found }] } = await client.query("SELECT to_regclass(quote_ident(current_schema()) || '.mcp_connect_schema') IS NOT NULL AS found")
  return found ? (await client.query(VERSION)).rows[0].version : 0
}
