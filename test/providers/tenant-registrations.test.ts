import { generateKeyPairSync } from 'node:crypto'
import pino from 'pino'
import t from 'tap'
import { defineProvider } from '../../lib/index.js'
import { createResolveProvider, redirectSegment } from '../../lib/providers/tenant-registrations.js'
import type { Principal, Provider, TenantProviderDefinition, TenantRegistration } from '../../lib/types.js'
import { advance } from '../fixtures/clock.js'

const definition = { name: 'Acme', issuer: 'https://acme.example', apiOrigins: ['https://api.acme.example'] }
const of = (tenant?: string): Principal => ({ issuer: 'https://login.example.com', subject: 'a', ...tenant !== undefined && { tenant } })

/** Resolves one provider, with a function that notes who asks. */
function start (registration: (tenant: string | undefined) => unknown, change: Partial<TenantProviderDefinition> = {}): { find: (tenant?: string) => Promise<Provider | null>, asked: unknown[], log: string[] } {
  const asked: unknown[] = []
  const log: string[] = []
  const provider = defineProvider({
    ...definition,
    ...change,
    registration: tenant => {
      asked.push(tenant)
      return registration(tenant) as TenantRegistration
    }
  })
  const resolve = createResolveProvider(new Map([['acme', provider]]), pino({}, { write: line => { log.push(line) } }))
  return { asked, log, find: tenant => resolve(of(tenant), 'acme') }
}

t.test('what a definition for tenants must be', async t => {
  const registration = (): TenantRegistration => ({ clientId: 'id' })
  for (const [change, path, mend] of [
    [{ registration: undefined }, 'registration', /function \(tenant\)/],
    [{ registration: { clientId: 'id' } }, 'registration', /function \(tenant\)/],
    [{ registration, clientSecret: 'secret' }, 'clientId', /tenants do not get it/],
    [{ registration, clientId: '' }, 'clientId', /environment variable/],
    [{ registration, clientId: 'id', issuer: undefined }, 'issuer', /https/],
    [{ registration, clientId: 'id', clientSecret: 'secret', clientAuthentication: 'private_key_jwt' }, 'clientAuthentication', /needs a privateKey/],
    [{ registration, scopes: ['a b'] }, 'scopes\\[0\\]', /one scope/]
  ] as const) t.throws(() => defineProvider({ ...definition, ...change } as never), { code: 'FST_MCP_CONNECT_OPTIONS', message: new RegExp(`${mend.source}[^]*→ at ${path}`) })
  const { issuer, apiOrigins, ...bare } = definition
  t.match(defineProvider({ ...bare, registration }), { name: 'Acme', registration }, 'a tenant may bring all of it')
  t.throws(() => defineProvider({ ...bare, clientId: 'id', registration }), { message: /→ at issuer/ })
  t.throws(() => defineProvider({ ...bare, issuer, clientId: 'id', registration }), { message: /→ at apiOrigins/ })
})

t.test('a registration is asked for once a minute and tenant, and is the same object as long as it says the same', async t => {
  const secrets = new Map([['T1', 'one'], ['T2', 'two']])
  const { find, asked } = start(async tenant => ({ clientId: `client of ${tenant}`, clientSecret: secrets.get(String(tenant)) ?? 'none' }))
  const [first, ...others] = await Promise.all(Array.from({ length: 100 }, () => find('T1')))
  t.match(first, { clientId: 'client of T1', clientSecret: 'one', name: 'Acme', issuer: 'https://acme.example' })
  t.notOk('registration' in first!)
  t.ok(others.every(one => one === first))
  t.match(await find('T2'), { clientId: 'client of T2', clientSecret: 'two' })
  t.match(await find(), { clientId: 'client of undefined' }, 'nor is nobody\'s tenant that of somebody')
  t.match(await find(''), { clientId: 'client of ' })
  t.strictSame(asked.splice(0), ['T1', 'T2', undefined, ''])
  t.equal(await find('T1'), first)
  t.strictSame(asked, [])
  advance(t, 60_001)
  t.equal(await find('T1'), first)
  t.strictSame(asked.splice(0), ['T1'])
  secrets.set('T1', 'rotated')
  t.equal(await find('T1'), first)
  advance(t, 60_001)
  t.match(await find('T1'), { clientSecret: 'rotated' })
})

t.test('keys are compared by what they are', async t => {
  const [one, other] = [0, 1].map(() => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey)
  let privateKey: TenantRegistration['privateKey'] = one!.export({ format: 'jwk' })
  const { find } = start(() => ({ clientId: 'id', privateKey }))
  const first = await find('T1')
  advance(t, 60_001)
  privateKey = { key: one! }
  t.equal(await find('T1'), first)
  advance(t, 60_001)
  privateKey = other!.export({ format: 'jwk' })
  const next = await find('T1')
  t.not(next, first)
  t.ok(next!.privateKey!.key.equals(other!))
  advance(t, 60_001)
  privateKey = { ...other!.export({ format: 'jwk' }), kid: 'named' }
  t.equal((await find('T1'))!.privateKey!.kid, 'named')
})

t.test('tenants without a registration have that of the definition, or none; they are asked for again soon', async t => {
  for (const nothing of [null, undefined]) {
    const none = start(async () => nothing)
    t.equal(await none.find('T1'), null)
    const all = start(async () => nothing, { clientId: 'of all', clientSecret: 'secret of all' })
    const found = await all.find('T1')
    t.match(found, { clientId: 'of all', clientSecret: 'secret of all' })
    t.equal(await all.find('T2'), found)
    t.strictSame(all.asked.splice(0), ['T1', 'T2'])
    await t.test('after three seconds', async t => {
      advance(t, 3001)
      t.equal(await all.find('T1'), found)
      t.strictSame(all.asked, ['T1'])
    })
  }
})

t.test('the credentials of the definition are no tenant\'s', async t => {
  const { find } = start(() => ({ clientId: 'theirs' }), { clientId: 'of all', clientSecret: 'secret of all', clientAuthentication: 'client_secret_post' })
  const found = await find('T1')
  t.match(found, { clientId: 'theirs', clientAuthentication: 'client_secret_basic' })
  t.notOk('clientSecret' in found!)
})

t.test('of an authorization server of a tenant\'s own, nothing goes to the addresses of the definition\'s', async t => {
  const change: Partial<TenantProviderDefinition> = {
    endpoints: { authorization: 'https://acme.example/authorize', token: 'https://acme.example/token' },
    identity: { url: 'https://acme.example/me', subject: 'id' },
    revocationRequest: () => ({ url: 'https://acme.example/revoke', method: 'POST' })
  }
  const own = await start(() => ({ clientId: 'id', issuer: 'https://tenant.example', apiOrigins: ['https://api.tenant.example'] }), change).find('T1')
  t.match(own, { issuer: 'https://tenant.example', apiOrigins: ['https://api.tenant.example'], redirectSegment: redirectSegment('https://tenant.example') })
  for (const name of ['endpoints', 'identity', 'revocationRequest']) t.notOk(name in own!, name)
  t.match(redirectSegment('https://tenant.example'), /^[\da-f]{32}$/)
  t.not(redirectSegment('https://tenant.example'), redirectSegment('https://tenant.example/'))
  for (const issuer of [{}, { issuer: 'https://acme.example' }]) {
    const same = await start(() => ({ clientId: 'id', ...issuer }), change).find('T1')
    t.match(same, { ...change, issuer: 'https://acme.example', apiOrigins: definition.apiOrigins })
    t.notOk('redirectSegment' in same!)
  }
})

t.test('what a registration must be', async t => {
  for (const [given, mend] of [
    [{}, /→ at clientId/], ['id', /must be an object of: clientId/], [[], /must be an object/], [{ clientId: 'id', clientSecret: undefined }, /environment variable[^]*→ at clientSecret/],
    [{ clientId: 'id', clientSecret: 's', privateKey: {} }, /→ at privateKey/], [{ clientId: 'id', issuer: 'http://tenant.example' }, /https[^]*→ at issuer/],
    [{ clientId: 'id', issuer: 'https://169.254.169.254' }, /not public[^]*→ at issuer/], [{ clientId: 'id', apiOrigins: ['http://x'] }, /→ at apiOrigins/],
    ...['privateHosts', 'endpoints', 'authorizationParameters', 'name', 'registration', 'scopes'].map(name => [{ clientId: 'id', [name]: [] }, new RegExp(`unknown: ${name}; known are: clientId`)] as const)
  ] as const) {
    const { find, asked } = start(() => given)
    for (let i = 0; i < 2; i++) await t.rejects(find('T1'), { code: 'FST_MCP_CONNECT_REGISTRATION', statusCode: 503, message: mend })
    t.equal(asked.length, 2, 'it may be mended by now')
  }
})

t.test('what fails is told apart from what there is not; what is known goes on to be used', async t => {
  let fails = true
  const trouble = new Error('the database is down')
  const { find, log, asked } = start(async () => {
    if (fails) throw trouble
    return { clientId: 'id' }
  })
  await t.rejects(find('T1'), { code: 'FST_MCP_CONNECT_REGISTRATION', message: /"acme" cannot be used: registration\(tenant\) failed$/, cause: trouble })
  fails = false
  const first = await find('T1')
  t.match(first, { clientId: 'id' })
  fails = true
  advance(t, 60_001)
  t.equal(await find('T1'), first)
  t.match(log.join(), /goes on to be used/)
  const { length } = asked
  t.equal(await find('T1'), first)
  t.equal(asked.length, length, 'not asked again at once')
  advance(t, 3001)
  t.equal(await find('T1'), first)
  t.equal(asked.length, length + 1, 'but soon')
  await t.rejects(find('T2'), { code: 'FST_MCP_CONNECT_REGISTRATION' })
  await t.rejects(start(() => { throw trouble }).find('T1'), { code: 'FST_MCP_CONNECT_REGISTRATION' })
})

t.test('one that never answers is not waited for', async t => {
  const { setTimeout } = globalThis
  const waits: number[] = []
  t.intercept(globalThis, 'setTimeout', { value: (work: () => void, ms: number) => { waits.push(ms); return setTimeout(work, 1) } })
  await t.rejects(start(() => new Promise(() => {})).find('T1'), { code: 'FST_MCP_CONNECT_REGISTRATION', message: /did not answer within 10 seconds/ })
  t.strictSame(waits, [10_000])
})

t.test('so many tenants are kept, and no more: those that were used last', async t => {
  const { find, asked } = start(tenant => ({ clientId: String(tenant) }))
  for (let i = 0; i < 1000; i++) await find(`T${i}`)
  await find('T0')
  asked.splice(0)
  await find('T1000')
  await find('T0')
  t.strictSame(asked.splice(0), ['T1000'])
  await find('T1')
  t.strictSame(asked, ['T1'])
})

t.test('nobody who is not signed in makes it ask', async t => {
  const asked: unknown[] = []
  const fixed = defineProvider({ ...definition, clientId: 'id' })
  const resolve = createResolveProvider(new Map<string, Parameters<typeof createResolveProvider>[0] extends ReadonlyMap<string, infer P> ? P : never>([
    ['fixed', fixed], ['acme', defineProvider({ ...definition, clientId: 'of all', registration: tenant => { asked.push(tenant); return null } })]
  ]), pino({ enabled: false }))
  t.equal(await resolve(null, 'acme'), null)
  t.equal(await resolve(null, 'fixed'), fixed)
  t.equal(await resolve(of('T1'), 'fixed'), fixed)
  t.equal(await resolve(of('T1'), 'other'), null)
  t.strictSame(asked, [])
})
