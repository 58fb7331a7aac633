import t, { type Test } from 'tap'
import { createConfigurations } from '../../lib/oauth/configuration.js'
import { readAccount } from '../../lib/oauth/identity.js'
import type { Tokens } from '../../lib/oauth/token-request.js'
import type { Account, IdentityDefinition, ProviderDefinition } from '../../lib/types.js'
import { json, startScriptedProvider, type ScriptedProvider } from '../fixtures/scripted-provider.js'
import { Secrets } from '../fixtures/secrets.js'

const identity: IdentityDefinition = { subject: 'user.id', labels: ['user.name', 'user.email'] }
/** An id_token that names somebody else: where a provider has a way of its own, that counts. */
const tokensWith = (members: object): Tokens => ({ access_token: 'canary-access', token_type: 'bearer', claims: () => ({ sub: 'of the id_token' }), ...members }) as unknown as Tokens

async function read (scripted: ScriptedProvider, tokens: Tokens, definition: Partial<ProviderDefinition>): Promise<Account | undefined> {
  const provider = scripted.provider(definition)
  return await readAccount(await createConfigurations()(provider), provider, tokens)
}

t.test('who it is, of what stands beside the tokens', async t => {
  const scripted = await startScriptedProvider(t, new Secrets())
  for (const [user, expected] of [
    [{ id: 'u1', name: 'Alice' }, { subject: 'u1', label: 'Alice' }],
    [{ id: 7, email: 'a@example.com' }, { subject: '7', label: 'a@example.com' }],
    [{ id: 'u1', name: '\u202E \u200B', email: 'a@example.com' }, { subject: 'u1', label: 'a@example.com' }],
    [{ id: 'u1', name: { first: 'Alice' } }, { subject: 'u1' }],
    [{ id: 'u1', name: '\u202Ename\u0007'.padEnd(300, 'x') }, { subject: 'u1', label: /^name x+\W?$/ }],
    [{ id: 'u'.repeat(1024) }, { subject: 'u'.repeat(1024) }],
    ...['', 'u'.repeat(1025), 1.5, 2 ** 60, null, true, {}, ['u1'], undefined].map(id => [{ id, name: 'Alice' }, undefined] as const)
  ] as ReadonlyArray<readonly [object, Account | undefined]>) {
    const account = await read(scripted, tokensWith({ user }), { identity })
    if (expected === undefined) t.equal(account, undefined, JSON.stringify(user).slice(0, 80))
    else t.match(account, expected)
    if (expected !== undefined && !('label' in expected)) t.notOk('label' in account!)
    t.ok((account?.label ?? '').length <= 100)
  }
})

async function ask (t: Test, answer: Parameters<ScriptedProvider['answers']['set']>[1], definition: Partial<IdentityDefinition> = {}): Promise<{ readonly account: Account | undefined, readonly scripted: ScriptedProvider }> {
  const scripted = await startScriptedProvider(t, new Secrets())
  scripted.answers.set('/me', answer)
  return { scripted, account: await read(scripted, tokensWith({}), { identity: { ...identity, url: `${scripted.issuer}/me`, ...definition } }) }
}

t.test('who it is, of an address of its own', async t => {
  const body = '{"query":"{ user { id } }"}'
  const { account, scripted } = await ask(t, (_request, response) => json(response, { user: { id: 'u1', name: 'Alice' } }), { method: 'POST', body })
  t.strictSame(account, { subject: 'u1', label: 'Alice' })
  t.match(scripted.requests.filter(({ path }) => path === '/me'), [{ method: 'POST', body, headers: { authorization: 'Bearer canary-access', 'content-type': 'application/json' } }])
})

t.test('an address that fails, sends on, gives too much or does not answer tells nobody, and keeps nobody out', async t => {
  const user = { id: 'u1' }
  for (const answer of [
    (_request, response) => json(response, { user }, 403),
    (_request, response) => response.writeHead(302, { location: '/elsewhere' }).end(),
    (_request, response) => response.end('no JSON'),
    (_request, response) => json(response, { user, more: 'x'.repeat(2_000_000) }),
    (request, _response) => request.socket.destroy()
  ] as ReadonlyArray<Parameters<ScriptedProvider['answers']['set']>[1]>) t.equal((await ask(t, answer)).account, undefined)
  const before = performance.now()
  t.equal((await ask(t, () => {})).account, undefined)
  t.ok(performance.now() - before < 9000)
})
