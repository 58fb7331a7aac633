import { generateKeyPairSync, randomBytes } from 'node:crypto'
import t from 'tap'
import { createResolveProvider } from '../../lib/providers/tenant-registrations.js'
import { resolveOptions } from '../../lib/options.js'
import { memoryStore } from '../../lib/index.js'

t.test('a tenant with a registration of its own uses that; the others use that of all, where there is one', async t => {
  const key = JSON.stringify(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' }))
  Object.assign(process.env, { INITECH_CLIENT_ID: 'initech-client', INITECH_KEY: key, GITHUB_CLIENT_ID: 'id', GITHUB_CLIENT_SECRET: 'secret' })
  const { acme, githubPerTenant } = await import('../../examples/registration-per-tenant.js')
  const { providers } = resolveOptions({
    baseUrl: 'https://mcp.example.com', store: memoryStore(), keys: [randomBytes(32).toString('base64')], browser: { identify: () => null }, providers: { acme, github: githubPerTenant }
  })
  const resolve = createResolveProvider(providers, undefined as never)
  const find = async (key: string, tenant?: string): Promise<unknown> => await resolve({ issuer: 'https://login.example.com', subject: 'a', ...tenant !== undefined && { tenant } }, key)
  t.match(await find('acme', 'initech'), { clientId: 'initech-client', clientAuthentication: 'private_key_jwt', issuer: 'https://login.acme.example' })
  t.equal(await find('acme', 'globex'), null)
  t.equal(await find('acme'), null)
  t.match(await find('github', 'initech'), { name: 'GitHub', clientId: 'initech-client', endpoints: { authorization: 'https://github.com/login/oauth/authorize' } })
  t.match(await find('github', 'globex'), { clientId: 'id', clientSecret: 'secret' })
})
