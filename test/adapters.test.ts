import t from 'tap'
import { checkState, checkVault } from '../lib/adapters.js'
import { memoryStore } from '../lib/index.js'

const { vault, state } = memoryStore()
const invalid = (message: RegExp) => ({ code: 'FST_MCP_CONNECT_ADAPTER_INVALID', statusCode: 500, message })

t.test('what an adapter returns is checked', async t => {
  for (const result of ['sealed', 7, {}, { value: 'x' }, { value: 1, revision: '1' }, { value: 'x', revision: 1 }]) {
    const get = async (): Promise<never> => result as never
    await t.rejects(checkVault({ ...vault, get }).get('o', 'n'), invalid(/^vault\.get .* value and revision, or null$/))
    await t.rejects(checkState({ ...state, get }).get('k'), invalid(/^state\.get /))
  }
  for (const result of [undefined, true, 1]) {
    const put = async (): Promise<never> => result as never
    await t.rejects(checkVault({ ...vault, put }).put('o', 'n', 'v', null), invalid(/^vault\.put .* null when the race is lost$/))
    await t.rejects(checkState({ ...state, put }).put('k', 'v', null), invalid(/^state\.put /))
  }
  for (const result of [undefined, null, 1]) {
    const remove = async (): Promise<never> => result as never
    await t.rejects(checkVault({ ...vault, delete: remove }).delete('o', 'n', '1'), invalid(/^vault\.delete .* boolean/))
    await t.rejects(checkState({ ...state, delete: remove }).delete('k', '1'), invalid(/^state\.delete /))
  }
  for (const result of [undefined, null, [], { entries: [] }, { cursor: null }, { entries: [{ owner: 'o' }], cursor: null }, { entries: [null], cursor: null }, { entries: [], cursor: 1 }]) {
    const list = async (): Promise<never> => result as never
    await t.rejects(checkVault({ ...vault, list }).list({ limit: 1 }), invalid(/^vault\.list .* entries, a list of/))
  }
})

t.test('a write that is made and forgets to say its revision is told so, and not taken for one whose answer was lost', async t => {
  const { vault } = memoryStore()
  const put = async (...args: Parameters<typeof vault.put>): Promise<never> => { await vault.put(...args); return undefined as never }
  await t.rejects(checkVault({ ...vault, put }).put('o', 'n', 'v', null), invalid(/^vault\.put /))
})

t.test('an adapter in plain JavaScript may say undefined for "none", and need not be asynchronous', async t => {
  t.equal(await checkVault({ ...vault, get: async () => undefined as never }).get('o', 'n'), null)
  t.strictSame(await checkState({ ...state, get: () => ({ value: 'v', revision: '1', more: true }) as never }).get('k'), { value: 'v', revision: '1' })
})

t.test('what an adapter throws is told from a refusal, whatever status it carries', async t => {
  const cause = Object.assign(new Error('of the adapter'), { statusCode: 403 })
  for (const failing of [async () => { throw cause }, () => { throw cause }]) {
    await t.rejects(checkVault({ ...vault, put: failing }).put('o', 'n', 'v', null), { code: 'FST_MCP_CONNECT_ADAPTER_FAILED', statusCode: 503, message: /^vault\.put /, cause })
    await t.rejects(checkState({ ...state, get: failing }).get('k'), { code: 'FST_MCP_CONNECT_ADAPTER_FAILED', message: /^state\.get /, cause })
  }
})

t.test('an adapter keeps its own this', async t => {
  class Vault {
    readonly #inner = memoryStore().vault
    async get (owner: string, name: string) { return await this.#inner.get(owner, name) }
    async put (owner: string, name: string, value: string, expected: string | null) { return await this.#inner.put(owner, name, value, expected) }
    async delete (owner: string, name: string, expected: string) { return await this.#inner.delete(owner, name, expected) }
    async list (query: { limit: number }) { return await this.#inner.list(query) }
  }
  const checked = checkVault(new Vault())
  const revision = await checked.put('o', 'n', 'v', null)
  t.strictSame(await checked.get('o', 'n'), { value: 'v', revision })
  t.strictSame(await checked.list({ limit: 1 }), { entries: [{ owner: 'o', name: 'n' }], cursor: null })
  t.equal(await checked.delete('o', 'n', revision!), true)
})

t.test('a call that hangs is given up', async t => {
  const never = async (): Promise<never> => await new Promise(() => {})
  const hanging = checkState({ ...state, get: never, delete: never }, 20)
  const failure = { code: 'FST_MCP_CONNECT_ADAPTER_FAILED', cause: { code: 'FST_MCP_CONNECT_STORE_TIMEOUT' } }
  await t.rejects(hanging.get('k'), failure)
  await t.rejects(hanging.delete('k', '1'), failure)
  await t.rejects(checkState({ ...state, put: never, get: never }, 20).put('k', 'v', null), failure)
  await t.rejects(checkVault({ ...vault, get: never }, 20).get('o', 'n'), failure)
  let store = (_revision: string): void => {}
  const slow = checkVault({ ...vault, get: never, put: async () => await new Promise(resolve => { store = resolve }) }, 20)
  const stored = slow.put('o', 'n', 'v', null)
  await t.rejects(slow.get('o', 'n'), failure, 'called later, with the same limit')
  store('1')
  t.equal(await stored, '1', 'but for a grant that is being stored, which may not be there without anybody knowing')
})

t.test('a write whose answer was lost was made', async t => {
  const { vault, state } = memoryStore()
  const lost = <A extends unknown[]> (write: (...args: A) => Promise<unknown>) => async (...args: A): Promise<never> => {
    await write(...args)
    throw new Error('connection reset')
  }
  const revision = await checkVault({ ...vault, put: lost(vault.put) }).put('o', 'n', 'sealed 1', null)
  t.strictSame(await vault.get('o', 'n'), { value: 'sealed 1', revision })
  t.type(await checkState({ ...state, put: lost(state.put) }).put('k', 'sealed 2', null, 1000), 'string')
  await t.rejects(checkVault({ ...vault, put: async () => { throw new Error('down') } }).put('o', 'n', 'sealed 3', revision), { code: 'FST_MCP_CONNECT_ADAPTER_FAILED' })
})
