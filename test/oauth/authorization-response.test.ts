import * as client from 'openid-client'
import t from 'tap'
import { defineProvider } from '../../lib/index.js'
import { readAuthorizationResponse, readState } from '../../lib/oauth/authorization-response.js'

const issuer = 'https://acme.example'
const provider = defineProvider({ name: 'Acme', issuer, clientId: 'id', apiOrigins: ['https://api.acme.example'] })
const advertising = new client.Configuration({ issuer, authorization_response_iss_parameter_supported: true }, 'id')
const silent = new client.Configuration({ issuer }, 'id')

t.test('OAR-03 the issuer, by the table of RFC 9207 section 2.4', async t => {
  const mismatch = { code: 'FST_MCP_CONNECT_ISS_MISMATCH', message: /Acme.*https:\/\/acme\.example$/ }
  t.strictSame(readAuthorizationResponse(advertising, provider, { code: 'x', iss: issuer }), { kind: 'code' })
  t.strictSame(readAuthorizationResponse(silent, provider, { code: 'x', iss: issuer }), { kind: 'code' })
  t.strictSame(readAuthorizationResponse(silent, provider, { code: 'x' }), { kind: 'code' })
  t.throws(() => readAuthorizationResponse(advertising, provider, { code: 'x' }), mismatch)
  for (const configuration of [advertising, silent]) {
    for (const iss of [`${issuer}/`, issuer.toUpperCase(), 'https://attacker.example', '']) {
      t.throws(() => readAuthorizationResponse(configuration, provider, { code: 'x', iss }), mismatch, iss)
      t.throws(() => readAuthorizationResponse(configuration, provider, { error: 'access_denied', iss }), mismatch, `error, ${iss}`)
    }
  }
})

t.test('errors: a refusal is told apart, and only known codes are named', async t => {
  t.strictSame(readAuthorizationResponse(silent, provider, { error: 'access_denied', code: 'x' }), { kind: 'denied' })
  t.strictSame(readAuthorizationResponse(silent, provider, { error: 'invalid_scope', error_description: 'x' }), { kind: 'error', reason: 'invalid_scope' })
  t.strictSame(readAuthorizationResponse(silent, provider, { error: 'server_error', code: 'x' }), { kind: 'error', reason: 'server_error' }, 'whatever stands beside')
  t.strictSame(readAuthorizationResponse(silent, provider, { error: 'canary' }), { kind: 'error', reason: 'an error of its own' })
})

t.test('OAR-09 parameters that are repeated, missing, empty or too long', async t => {
  for (const query of [{}, { code: '' }, { code: ['a', 'b'] }, { code: 'x'.repeat(8193) }, { code: 'x', iss: [issuer, issuer] }, { code: 'x', iss: 'x'.repeat(2049) },
    { error: ['access_denied', 'x'] }, { error: 'x'.repeat(257) }, null, 'code=x']) {
    t.throws(() => readAuthorizationResponse(silent, provider, query), { code: 'FST_MCP_CONNECT_RESPONSE_INVALID' })
  }
})

t.test('STA-12 a state is 43 characters of base64url, once', async t => {
  t.equal(readState({ state: 's'.repeat(43) }), 's'.repeat(43))
  for (const query of [{}, null, { state: '' }, { state: 's'.repeat(42) }, { state: 's'.repeat(44) }, { state: `${'s'.repeat(42)}+` },
    { state: `${'s'.repeat(43)}\n` }, { state: ['s'.repeat(43), 's'.repeat(43)] }]) t.throws(() => readState(query), { code: 'FST_MCP_CONNECT_STATE_INVALID' })
})
