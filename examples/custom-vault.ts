import type { TokenVault } from 'fastify-mcp-connect'

/*
 * A vault in HashiCorp Vault, by its KV secrets engine, version 2. It wants a mount of its own, which keeps no old
 * versions (they are older grants), and a token that cannot delete metadata (versions would start at 1 again):
 *
 *   vault secrets enable -path=connect -version=2 kv
 *   vault write connect/config max_versions=1 cas_required=true
 *   policy: create, read and update on connect/data/*; list on connect/metadata/*
 */
export interface KeyValueMount {
  readonly address: string
  readonly token: string // read anew for each request, so that whoever renews it may replace it
  readonly mount: string
  readonly timeoutMs?: number // for one request, 8000 by default; the plugin gives up after ten seconds
}

type Data = { data?: { value?: string | null } | null, metadata?: { version: number }, version?: number, keys?: string[] }

export function keyValueVault (server: KeyValueMount): TokenVault {
  /** @returns what Vault says; `{}` when there is nothing, or when another write came first */
  async function call (path: string, body?: object): Promise<Data> {
    const response = await fetch(new URL(`/v1/${server.mount}/${path}`, server.address), {
      headers: { 'x-vault-token': server.token },
      signal: AbortSignal.timeout(server.timeoutMs ?? 8000),
      ...body !== undefined && { method: 'POST', body: JSON.stringify(body) }
    }).catch(error => { throw new Error(`Vault does not answer: ${error.cause?.code ?? error.name}`) })
    const { data, errors } = await response.json().catch(() => ({})) as { data?: Data, errors?: string[] }
    if (data !== undefined && [200, 404].includes(response.status)) return data // 404: this version was deleted by hand
    if (response.status === 404 && body === undefined && errors?.length === 0) return {} // an error there: no such mount
    if (response.status === 400 && errors?.some(error => error.includes('check-and-set parameter did not match'))) return {}
    throw new Error(`Vault answered ${response.status} to a ${body === undefined ? 'read' : 'write'} at ${server.mount}/`)
  }

  /** A version without a value is a tombstone: Vault can neither delete on a condition nor count on after a full delete. */
  async function read (path: string): Promise<{ value: string | null, version: number }> {
    const { data, metadata } = await call(`data/${path}`)
    return { value: data?.value ?? null, version: metadata?.version ?? 0 }
  }

  async function write (path: string, value: string | null, cas: number | null): Promise<string | null> {
    const { version } = cas === null ? {} : await call(`data/${path}`, { data: { value }, options: { cas } })
    return version === undefined ? null : String(version)
  }

  const versionOf = (revision: string): number | null => /^[1-9]\d{0,14}$/.test(revision) ? Number(revision) : null
  const keys = async (folder: string): Promise<string[]> => (await call(`metadata/${folder}?list=true`)).keys?.sort() ?? []

  return {
    async get (owner, name) {
      const { value, version } = await read(`${owner}/${name}`)
      return value === null ? null : { value, revision: String(version) }
    },
    async put (owner, name, value, expected) {
      const below = expected === null ? await read(`${owner}/${name}`) : { value: null, version: versionOf(expected) }
      return below.value === null ? await write(`${owner}/${name}`, value, below.version) : null
    },
    delete: async (owner, name, expected) => await write(`${owner}/${name}`, null, versionOf(expected)) !== null,
    async list ({ owner, cursor = '', limit }) { // reads each entry that it passes, to leave out tombstones
      const page: string[] = []
      const answer = (next: string | null) => ({ entries: page.map(path => ({ owner: path.slice(0, 64), name: path.slice(65) })), cursor: next })
      for (const folder of owner === undefined ? await keys('') : [`${owner}/`]) {
        for (const path of folder < cursor.slice(0, 65) ? [] : (await keys(folder)).map(name => folder + name)) {
          if (path <= cursor || (await read(path)).value === null) continue
          if (page.length === limit) return answer(page.at(-1)!)
          page.push(path)
        }
      }
      return answer(null)
    }
  }
}

// VAULT_ADDR=... VAULT_TOKEN=... npx tsx examples/custom-vault.ts checks it against a Vault of yours.
if (process.argv[1] === import.meta.filename) {
  const [{ test }, { vaultContract }] = await Promise.all([import('node:test'), import('fastify-mcp-connect/testing')])
  const vault = keyValueVault({ address: process.env.VAULT_ADDR!, token: process.env.VAULT_TOKEN!, mount: 'connect', timeoutMs: 60_000 }) // 1,000 calls at once
  for (const { name, run } of vaultContract) test(name, () => run(() => vault))
}
