import t from 'tap'
import undici from 'undici'
import { defineProvider } from '../../lib/index.js'
import { createConfigurations } from '../../lib/oauth/configuration.js'

t.test('OAR-26 the issuer of metadata is the configured one, to the letter (RFC 8414 section 3.3)', async t => {
  for (const [configured, announced] of [
    ['https://acme.example', 'https://acme.example/'],
    ['https://acme.example/', 'https://acme.example'],
    ['https://acme.example', 'https://ACME.example'],
    ['https://acme.example', 'https://acme.example:443'],
    ['https://login.microsoftonline.com/common/v2.0', 'https://login.microsoftonline.com/{tenantid}/v2.0'],
    ['https://login.microsoftonline.com/common/v2.0', 'https://attacker.example']
  ] as const) {
    const provider = defineProvider({ name: 'Acme', issuer: configured, clientId: 'id', apiOrigins: ['https://api.acme.example'] })
    const answer = (issuer: string): void => {
      const endpoints = { authorization_endpoint: 'https://acme.example/authorize', token_endpoint: 'https://acme.example/token' }
      t.intercept(undici, 'fetch', { value: async () => Response.json({ issuer, ...endpoints, response_types_supported: ['code'], code_challenge_methods_supported: ['S256'] }) })
    }
    answer(announced)
    await t.rejects(createConfigurations()(provider), { code: 'FST_MCP_CONNECT_PROVIDER_MISCONFIGURED', message: /its issuer is another one.*a slash at the end/ }, announced)
    answer(configured)
    await t.resolves(createConfigurations()(provider))
  }
})
