import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import undici from 'undici'
import { A, startServer } from '../fixtures/server.js'
import { createStorage, lastingKinds, openPool, openRedis, type StorageSpec } from '../fixtures/stores.js'

t.setTimeout(400_000)
const run = promisify(execFile)

/** Everything that lies on disk, or would in a dump: files and write-ahead logs too. */
async function dump (spec: StorageSpec): Promise<Buffer> {
  if (spec.kind === 'sqlite') {
    const folder = dirname(spec.path)
    const files = readdirSync(folder)
    if (!files.some(file => file.endsWith('-wal'))) throw new Error('there is no write-ahead log to look into')
    return Buffer.concat(files.map(file => readFileSync(join(folder, file))))
  }
  if (spec.kind === 'redis') {
    const client = openRedis(spec.url)
    const parts: Buffer[] = []
    for await (const keys of client.scanStream({ match: `${spec.prefix}*` })) {
      for (const key of keys as string[]) {
        const string = await client.type(key) === 'string'
        const value = string ? await client.get(key) ?? '' : (await client.zrange(key, '0', '-1')).join()
        parts.push(Buffer.from(`${key} ${value} `), await client.dumpBuffer(key) as unknown as Buffer)
      }
    }
    client.disconnect()
    return Buffer.concat(parts)
  }
  if (spec.kind === 'postgres') {
    const pool = openPool(spec.schema, spec.url)
    await pool.query('CHECKPOINT')
    const { rows } = await pool.query(`
      SELECT pg_read_binary_file(pg_relation_filepath(c.oid)) AS bytes FROM pg_class c
        WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'i', 't')
      UNION ALL SELECT pg_read_binary_file('pg_wal/' || pg_walfile_name(pg_current_wal_insert_lsn()))`)
    await pool.end()
    const { stdout } = await run('pg_dump', ['--schema', spec.schema, '--dbname', spec.url], { maxBuffer: 64 * 1024 * 1024 })
    return Buffer.concat([...rows.map(({ bytes }) => bytes as Buffer), Buffer.from(stdout)])
  }
  throw new Error(`no dump of ${spec.kind}`)
}

/** How a secret may be written. */
function forms (bytes: Buffer): Buffer[] {
  const text = bytes.toString('latin1')
  // What base64 makes of it depends on where it begins, but for its ends.
  const parts = [0, 1, 2].map(skip => bytes.subarray(skip, skip + 3 * Math.floor((bytes.length - skip) / 3)))
  const texts = [bytes.toString('hex'), encodeURIComponent(text), ...parts.flatMap(part => [part.toString('base64'), part.toString('base64url')])]
  return [bytes, Buffer.from(text, 'utf16le'), ...texts.map(form => Buffer.from(form))]
}

const found = (bytes: Buffer, secrets: ReadonlyMap<string, Buffer>): string[] =>
  [...secrets].filter(([, secret]) => forms(secret).some(form => bytes.includes(form))).map(([name]) => name)

for (const kind of await lastingKinds(t)) {
  t.test(`VLT-01 ${kind}: no secret on disk, in the write-ahead log or in a dump`, async t => {
    const storage = await createStorage(t, kind)
    const store = await storage.open()
    // Of this run alone: a write-ahead log still holds what an earlier run put there to be found.
    const planted = (name: string): string => `planted-${name}-${randomBytes(8).toString('hex')}`
    const user = { ...A, subject: planted('subject'), tenant: planted('tenant') }
    const key = randomBytes(32)
    const secrets = new Map([['key', key]])
    const add = (name: string, secret: string): void => { secrets.set(name, Buffer.from(secret)) }
    add('subject', user.subject)
    add('tenant', user.tenant)
    add('key in base64', key.toString('base64'))
    const { fetch } = undici
    t.intercept(undici, 'fetch', {
      value: async (...args: Parameters<typeof fetch>) => {
        const response = await fetch(...args)
        const body = await response.clone().json().catch(() => ({})) as { access_token?: string, refresh_token?: string }
        if (body.access_token !== undefined) add('access token', body.access_token)
        if (body.refresh_token !== undefined) add('refresh token', body.refresh_token)
        return response
      }
    })
    const server = await startServer(t, { store: { ...store, close: async () => {} }, keys: [key.toString('base64')] })
    const { id, url } = await server.elicit(user)
    const browser = server.browser(user)
    add('elicitation id', id)
    const callback = await server.untilCallback(browser, url)
    for (const name of ['code', 'state']) add(name, callback.searchParams.get(name)!)
    t.strictSame(found(await dump(storage.spec), secrets), [], 'while it is under way')
    t.equal((await browser.get(callback.href)).statusCode, 303)
    t.ok(secrets.has('access token') && secrets.has('refresh token'), 'the secrets are known')
    const bytes = await dump(storage.spec)
    t.strictSame(found(bytes, secrets), [], 'and afterwards')

    // The search finds what is there.
    const { entries: [entry] } = await store.vault.list({ limit: 1 })
    const { value, revision } = (await store.vault.get(entry!.owner, entry!.name))!
    t.ok(bytes.includes(value.slice(-20)), 'the sealed grant was looked at')
    await store.vault.put(entry!.owner, entry!.name, [...secrets.values()].map(secret => secret === key ? key.toString('hex') : secret).join(' '), revision)
    t.strictSame(found(await dump(storage.spec), secrets), [...secrets.keys()])
  })
}
