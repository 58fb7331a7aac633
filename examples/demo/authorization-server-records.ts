import type { Adapter } from 'oidc-provider'
import type { DemoDatabase } from './database.js'

/** What one authorization server remembers, by kind of record, in a table that it may share with others. */
export interface AuthorizationServerRecords {
  /** Forgets every record of one kind, such as all access tokens. */
  forget (kind: string): void
  /** The view of one kind of records that oidc-provider asks for. */
  adapter (kind: string): Adapter
}

/**
 * Makes the table if it is missing.
 * @param server tells its records from those of other authorization servers
 */
export function createAuthorizationServerRecords (database: DemoDatabase, server: string): AuthorizationServerRecords {
  database.exec(`CREATE TABLE IF NOT EXISTS authorization_server_records (
    server TEXT, kind TEXT, id TEXT, payload TEXT NOT NULL, expires_at INTEGER, PRIMARY KEY (server, kind, id)
  )`)
  database.prepare('DELETE FROM authorization_server_records WHERE expires_at <= ?').run(Date.now())

  const run = (sql: string, ...values: unknown[]) => { database.prepare(sql).run(server, ...values) }

  return {
    forget: kind => run('DELETE FROM authorization_server_records WHERE server = ? AND kind = ?', kind),
    adapter (kind) {
      const findBy = async (what: string, value: string) => {
        const row = database.prepare(`SELECT payload FROM authorization_server_records
          WHERE server = ? AND kind = ? AND ${what} = ? AND (expires_at IS NULL OR expires_at > ?)`)
          .get(server, kind, value, Date.now()) as { payload: string } | undefined
        return row == null ? undefined : JSON.parse(row.payload)
      }
      return {
        find: id => findBy('id', id),
        findByUid: uid => findBy("payload ->> 'uid'", uid),
        findByUserCode: userCode => findBy("payload ->> 'userCode'", userCode),
        upsert: async (id, payload, expiresIn) => {
          const expiresAt = expiresIn == null || expiresIn === Infinity ? null : Date.now() + expiresIn * 1000
          run('REPLACE INTO authorization_server_records (server, kind, id, payload, expires_at) VALUES (?, ?, ?, ?, ?)',
            kind, id, JSON.stringify(payload), expiresAt)
        },
        consume: async id => run(`UPDATE authorization_server_records SET payload = json_set(payload, '$.consumed', unixepoch())
          WHERE server = ? AND kind = ? AND id = ?`, kind, id),
        destroy: async id => run('DELETE FROM authorization_server_records WHERE server = ? AND kind = ? AND id = ?', kind, id),
        revokeByGrantId: async grantId =>
          run("DELETE FROM authorization_server_records WHERE server = ? AND kind = ? AND payload ->> 'grantId' = ?", kind, grantId)
      }
    }
  }
}
