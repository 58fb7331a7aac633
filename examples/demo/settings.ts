import { openDatabase } from './database.js'

/** What has to be the same in the next run, by name. */
export interface Settings {
  read<T> (name: string): T | undefined
  write (name: string, value: unknown): void
  close (): void
}

export function openSettings (path: string): Settings {
  const database = openDatabase(path)
  database.exec('CREATE TABLE IF NOT EXISTS demo_settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT')
  return {
    read<T> (name: string) {
      const row = database.prepare('SELECT value FROM demo_settings WHERE name = ?').get(name) as { value: string } | undefined
      return row == null ? undefined : JSON.parse(row.value) as T
    },
    write (name, value) {
      database.prepare('REPLACE INTO demo_settings (name, value) VALUES (?, ?)').run(name, JSON.stringify(value))
    },
    close () { database.close() }
  }
}
