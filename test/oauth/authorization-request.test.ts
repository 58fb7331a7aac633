import * as client from 'openid-client'
import t from 'tap'
import { defineProvider } from '../../lib/index.js'
import { createAuthorizationRequest } from '../../lib/oauth/authorization-request.js'

const issuer = 'https://acme.example'
const configuration = new client.Configuration({ issuer, authorization_endpoint: `${issuer}/authorize` }, 'id')
const provider = defineProvider({ name: 'Acme', issuer, clientId: 'id', apiOrigins: ['https://api.acme.example'] })
const request = { redirectUri: 'https://mcp.example.com/connect/callback/acme', scopes: ['openid'], state: 's'.repeat(43) }

t.test('OAR-13 each request has a code verifier and a nonce of its own, and sends the hash of the one and the other', async t => {
  const made = await Promise.all(Array.from({ length: 20 }, () => createAuthorizationRequest(configuration, provider, request)))
  for (const { url, codeVerifier, nonce } of made) {
    t.match(codeVerifier, /^[\w-]{43}$/)
    t.match(nonce, /^[\w-]{43}$/)
    t.equal(url.searchParams.get('code_challenge'), await client.calculatePKCECodeChallenge(codeVerifier))
    t.equal(url.searchParams.get('nonce'), nonce)
    t.notMatch(url.href, codeVerifier)
  }
  t.equal(new Set(made.flatMap(({ codeVerifier, nonce }) => [codeVerifier, nonce])).size, 40)
})

t.test('OAR-13 nothing takes the place of our own parameters', async t => {
  const own = ['response_type', 'redirect_uri', 'state', 'code_challenge', 'code_challenge_method', 'scope', 'nonce', 'prompt']
  const others = Object.fromEntries(own.map(name => [name, 'other']))
  const { url } = await createAuthorizationRequest(configuration, { ...provider, authorizationParameters: others }, { ...request, prompt: 'login' })
  for (const name of own) t.not(url.searchParams.get(name), 'other', name)
  t.equal([...url.searchParams].length, own.length + 1, 'and client_id')
  const bare = await createAuthorizationRequest(configuration, provider, { ...request, scopes: [] })
  t.notOk(bare.url.searchParams.has('scope'), 'what is not asked for does not stand there empty')
})
